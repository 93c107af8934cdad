import { declareFunctions, type Def, makeTypeParser, NATIVE_RESOLVER, Parser, SimpleSelf } from '@cresset/frontend';
import { ClassType, CompilationUnit, findCustomClass, registerCustomClass, Source } from '@cresset/ir';

interface CustomClass {
  readonly names: readonly string[];
  /** Types of the attributes, in TorchScript. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly methods: string;
}

const LISTS = ['stride', 'padding', 'dilation', 'output_padding'];

/** How packed weights are saved, which are objects of C++ in PyTorch, with their methods in TorchScript. */
const CLASSES: readonly CustomClass[] = [
  {
    names: ['LinearPackedParamsBase'],
    attributes: { _weight: 'Tensor', _bias: 'Optional[Tensor]' },
    methods: `
def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self._weight, self._bias
def bias(self) -> Optional[Tensor]:
    return self._bias
def __getstate__(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self._weight, self._bias
def __setstate__(self, state: Tuple[Tensor, Optional[Tensor]]) -> None:
    self._weight = state[0]
    self._bias = state[1]
`,
  },
  {
    names: ['Conv2dPackedParamsBase', 'Conv3dPackedParamsBase'],
    attributes: {
      _weight: 'Tensor',
      _bias: 'Optional[Tensor]',
      ...Object.fromEntries(LISTS.map((name) => [`_${name}`, 'List[int]'])),
      _groups: 'int',
      _transpose: 'bool',
    },
    // The state: a version; numbers in one tensor, the number of dimensions before them, and the weight; the bias.
    methods: `
def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self._weight, self._bias
${LISTS.map((name) => `def ${name}(self) -> List[int]:\n    return self._${name}\n`).join('')}
def groups(self) -> int:
    return self._groups
def transpose(self) -> bool:
    return self._transpose
def __getstate__(self) -> Tuple[str, List[Tensor], List[Optional[Tensor]]]:
    numbers = [len(self._stride)] + ${LISTS.map((name) => `self._${name}`).join(' + ')}
    numbers = numbers + [self._groups, int(self._transpose)]
    # 2 is int16.
    return '2', [torch.tensor(numbers, dtype=2), self._weight], annotate(List[Optional[Tensor]], [self._bias])
def __setstate__(self, state: Tuple[str, List[Tensor], List[Optional[Tensor]]]) -> None:
    assert state[0] == '2', 'Unexpected version of packed convolution parameters: ' + state[0]
    numbers = [int(number) for number in state[1][0].unbind(0)]
    n = numbers[0]
${LISTS.map((name, at) => `    self._${name} = numbers[1 + ${at} * n:1 + ${at + 1} * n]\n`).join('')}
    self._groups = numbers[1 + 4 * n]
    self._transpose = bool(numbers[2 + 4 * n])
    self._weight = state[1][1]
    self._bias = state[2][0]
`,
  },
];

/** Makes the classes known that quantised layers are saved with. Does nothing the second time. */
export function registerQuantizedClasses(): void {
  for (const { names, attributes, methods } of CLASSES) {
    for (const name of names) {
      const qualifiedName = `__torch__.torch.classes.quantized.${name}`;
      if (!findCustomClass(qualifiedName)) registerCustomClass(makeClass(qualifiedName, attributes, methods));
    }
  }
}

function makeClass(qualifiedName: string, attributes: CustomClass['attributes'], methods: string): ClassType {
  const type = new ClassType(qualifiedName);
  const typeParser = makeTypeParser(NATIVE_RESOLVER);
  for (const [name, text] of Object.entries(attributes)) type.addAttribute(name, typeParser.parseType(text));
  const definitions = new Parser(new Source(methods, '<quantized>')).parseDefinitions(true);
  declareFunctions(new CompilationUnit(), definitions as Def[], {
    prefix: qualifiedName,
    resolver: NATIVE_RESOLVER,
    self: new SimpleSelf(type),
  });
  return type;
}
