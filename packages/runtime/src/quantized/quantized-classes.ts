import {
  declareFunctions,
  type Def,
  makeTypeParser,
  NATIVE_RESOLVER,
  Parser,
  type Resolver,
  SimpleSelf,
} from '@cresset/frontend';
import { ClassType, CompilationUnit, findCustomClass, registerCustomClass, Source } from '@cresset/ir';

interface CustomClass {
  readonly names: readonly string[];
  /** Types of the attributes, in TorchScript. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly methods: string;
}

/**
 * States of convolutions by version: 2, which is written, has numbers in one tensor, the number of dimensions before them, and weight
 * and bias; 3 has the numbers in a list, and tensors of which the first is not used; 1, without its number, has a tensor a number.
 */
const CONVOLUTION_STATES = [
  'Tuple[str, List[Tensor], List[Optional[Tensor]]]',
  'Tuple[int, List[int], List[Optional[Tensor]]]',
  'Tuple[Tensor, Optional[Tensor], List[Tensor], List[Tensor], List[Tensor], Tensor]',
];

const LISTS = ['stride', 'padding', 'dilation', 'output_padding'];

const LINEAR = '__torch__.torch.classes.quantized.LinearPackedParamsBase';
const CELL_STATE = `Tuple[str, List[Tensor], List[float], List[int], List[${LINEAR}]]`;

/** How packed weights are saved, which are objects of C++ in PyTorch, with their methods in TorchScript. */
const CLASSES: readonly CustomClass[] = [
  {
    names: ['quantized.LinearPackedParamsBase'],
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
    names: ['quantized.Conv2dPackedParamsBase', 'quantized.Conv3dPackedParamsBase'],
    attributes: {
      _weight: 'Tensor',
      _bias: 'Optional[Tensor]',
      ...Object.fromEntries(LISTS.map((name) => [`_${name}`, 'List[int]'])),
      _groups: 'int',
      _transpose: 'bool',
    },
    methods: `
def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self._weight, self._bias
${LISTS.map((name) => `def ${name}(self) -> List[int]:\n    return self._${name}\n`).join('')}
def groups(self) -> int:
    return self._groups
def transpose(self) -> bool:
    return self._transpose
def __getstate__(self) -> ${CONVOLUTION_STATES[0]}:
    numbers = [len(self._stride)] + ${LISTS.map((name) => `self._${name}`).join(' + ')}
    numbers = numbers + [self._groups, int(self._transpose)]
    # 2 is int16.
    return '2', [torch.tensor(numbers, dtype=2), self._weight], annotate(List[Optional[Tensor]], [self._bias])
def _set(self, numbers: List[int], weight: Tensor, bias: Optional[Tensor]) -> None:
    n = numbers[0]
${LISTS.map((name, at) => `    self._${name} = numbers[1 + ${at} * n:1 + ${at + 1} * n]\n`).join('')}
    self._groups = numbers[1 + 4 * n]
    self._transpose = bool(numbers[2 + 4 * n])
    self._weight = weight
    self._bias = bias
def __setstate__(self, state: Union[${CONVOLUTION_STATES.join(', ')}]) -> None:
    if isinstance(state, ${CONVOLUTION_STATES[0]}):
        assert state[0] == '2', 'Unexpected version of packed convolution parameters: ' + state[0]
        self._set([int(number) for number in state[1][0].unbind(0)], state[1][1], state[2][0])
    elif isinstance(state, ${CONVOLUTION_STATES[1]}):
        assert state[0] == 3, 'Unexpected version of packed convolution parameters: ' + str(state[0])
        weight = state[2][1]
        assert weight is not None
        self._set(state[1], weight, state[2][2])
    else:
        numbers = [len(state[2])]
        for numbers_of_one_kind in [state[2], state[3], state[4]]:
            for number in numbers_of_one_kind:
                numbers.append(int(number))
        numbers = numbers + [0 for _ in state[2]] + [int(state[5]), 0]
        self._set(numbers, state[0], state[1])
`,
  },
  {
    names: ['quantized.EmbeddingPackedParamsBase'],
    attributes: { _weight: 'Tensor', _bit_rate: 'int' },
    methods: `
def bit_rate(self) -> int:
    return self._bit_rate
def unpack(self) -> Tensor:
    return self._weight
def version(self) -> int:
    return 1
def __getstate__(self) -> Tuple[int, List[Tensor], List[float], List[int]]:
    return 1, [self._weight], annotate(List[float], []), [self._bit_rate]
def __setstate__(self, state: Tuple[int, List[Tensor], List[float], List[int]]) -> None:
    assert state[0] == 1, 'EmbeddingPackedParams: Currently only version 1 supported.'
    self._weight = state[1][0]
    self._bit_rate = state[3][0]
`,
  },
  {
    names: ['rnn.CellParamsBase'],
    attributes: {
      _kind: 'str',
      _biases: 'List[Tensor]',
      _reduce_range: 'bool',
      _packed: `List[${LINEAR}]`,
    },
    methods: `
def __getstate__(self) -> ${CELL_STATE}:
    numbers = annotate(List[int], [])
    if self._kind == 'quantized_dynamic':
        numbers.append(int(self._reduce_range))
    return self._kind, self._biases, annotate(List[float], []), numbers, self._packed
def __setstate__(self, state: ${CELL_STATE}) -> None:
    assert state[0] == 'quantized_dynamic' or state[0] == 'quantized_fp16', 'Unsupported cell parameters: ' + state[0]
    self._kind = state[0]
    self._biases = state[1]
    self._reduce_range = len(state[3]) > 0 and bool(state[3][0])
    self._packed = state[4]
`,
  },
];

/** Makes the classes known that quantised layers are saved with. Does nothing the second time. */
export function registerQuantizedClasses(): void {
  for (const { names, attributes, methods } of CLASSES) {
    for (const name of names) {
      const qualifiedName = `__torch__.torch.classes.${name}`;
      if (!findCustomClass(qualifiedName)) registerCustomClass(makeClass(qualifiedName, attributes, methods));
    }
  }
}

/** One class may hold objects of another. */
const RESOLVER: Resolver = {
  resolveType: (name, range) => findCustomClass(name) ?? NATIVE_RESOLVER.resolveType(name, range),
  resolveValue: (name, fn, range) => NATIVE_RESOLVER.resolveValue(name, fn, range),
};

function makeClass(qualifiedName: string, attributes: CustomClass['attributes'], methods: string): ClassType {
  const type = new ClassType(qualifiedName);
  const typeParser = makeTypeParser(RESOLVER);
  for (const [name, text] of Object.entries(attributes)) type.addAttribute(name, typeParser.parseType(text));
  const definitions = new Parser(new Source(methods, '<quantized>')).parseDefinitions(true);
  declareFunctions(new CompilationUnit(), definitions as Def[], {
    prefix: qualifiedName,
    resolver: RESOLVER,
    self: new SimpleSelf(type),
  });
  return type;
}
