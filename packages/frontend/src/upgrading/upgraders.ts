import { type FunctionSchema, parseSchema, type Graph, type Symbol } from '@cresset/ir';
import { builtinFunctionTable } from '../builtin-function-table.ts';

/** From this version of the file format on, every operator means what it means today. */
export const CURRENT_OPERATOR_VERSION = 10;

/** `return torch.f(...)` of a text where an omitted number of steps means 100. */
function hundredSteps(call: (steps: string) => string): string {
  return `
  if steps is None:
    return ${call('100')}
  return ${call('steps')}`;
}

/** Division that truncates where every operand is of an integer type. */
function oldDivision(inPlace: string, isFloating: string, out = ''): string {
  return `
  if self.is_floating_point() or ${isFloating}:
    return self.div${inPlace}(other${out})
  return self.div${inPlace}(other, rounding_mode='trunc'${out})`;
}

const RANGE = 'Scalar start, Scalar end, int? steps=None';
const OPTIONS = '*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const PASS_OPTIONS = 'dtype=dtype, layout=layout, device=device, pin_memory=pin_memory';
const FLOATING_TENSOR = 'other.is_floating_point()';
const FLOATING_SCALAR = 'isinstance(other, float)';

/** The version that changed an operator, its schema until then, and TorchScript of that schema's arguments which does the same today. */
const CHANGES: readonly (readonly [bumpedAtVersion: number, oldSchema: string, body: string])[] = [
  [4, 'div.Tensor(Tensor self, Tensor other) -> Tensor', oldDivision('', FLOATING_TENSOR)],
  [4, 'div.Scalar(Tensor self, Scalar other) -> Tensor', oldDivision('', FLOATING_SCALAR)],
  [4, 'div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)', oldDivision('_', FLOATING_TENSOR)],
  [4, 'div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)', oldDivision('_', FLOATING_SCALAR)],
  [
    4,
    'div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    oldDivision('', `${FLOATING_TENSOR} or out.is_floating_point()`, ', out=out'),
  ],
  ...['Tensor', 'Scalar'].flatMap(
    (other) =>
      [
        [
          4,
          `div.${other}_mode(Tensor self, ${other} other, *, str? rounding_mode) -> Tensor`,
          ' return self.div(other, rounding_mode=rounding_mode)',
        ],
        [
          4,
          `div_.${other}_mode(Tensor(a!) self, ${other} other, *, str? rounding_mode) -> Tensor(a!)`,
          ' return self.div_(other, rounding_mode=rounding_mode)',
        ],
      ] as const,
  ),
  [
    4,
    'div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)',
    ' return self.div(other, rounding_mode=rounding_mode, out=out)',
  ],
  [
    5,
    `full(int[] size, Scalar fill_value, ${OPTIONS}) -> Tensor`,
    `
  if dtype is None:
    fill_value = float(fill_value)
  return torch.full(size, fill_value, ${PASS_OPTIONS})`,
  ],
  [
    5,
    'full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)',
    ' return torch.full(size, fill_value, out=out)',
  ],
  [
    8,
    `linspace(${RANGE}, ${OPTIONS}) -> Tensor`,
    hundredSteps((steps) => `torch.linspace(start, end, ${steps}, ${PASS_OPTIONS})`),
  ],
  [
    8,
    `linspace.out(${RANGE}, *, Tensor(a!) out) -> Tensor(a!)`,
    hundredSteps((steps) => `torch.linspace(start, end, ${steps}, out=out)`),
  ],
  [
    9,
    `logspace(${RANGE}, float base=10.0, ${OPTIONS}) -> Tensor`,
    hundredSteps((steps) => `torch.logspace(start, end, ${steps}, base, ${PASS_OPTIONS})`),
  ],
  [
    9,
    `logspace.out(${RANGE}, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)`,
    hundredSteps((steps) => `torch.logspace(start, end, ${steps}, base, out=out)`),
  ],
  [10, 'gelu(Tensor self) -> Tensor', " return torch.gelu(self, approximate='none')"],
  [10, 'gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor', " return torch.gelu(self, approximate='none', out=out)"],
];

/** An operator as it was until a version of the file format (PyTorch: UpgraderEntry and its upgrader). */
export class Upgrader {
  readonly bumpedAtVersion: number;
  readonly #schemaText: string;
  readonly #body: string;
  #oldSchema: FunctionSchema | undefined;
  #graph: Graph | undefined;

  constructor(bumpedAtVersion: number, schemaText: string, body: string) {
    this.bumpedAtVersion = bumpedAtVersion;
    this.#schemaText = schemaText;
    this.#body = body;
  }

  get oldSchema(): FunctionSchema {
    return (this.#oldSchema ??= parseSchema(this.#schemaText));
  }

  /** What the old operator means, in terms of today's. */
  get graph(): Graph {
    if (this.#graph === undefined) {
      const { arguments: args, operatorName } = this.oldSchema;
      // `aten::div_.Tensor` until version 3 is div__Tensor_0_3.
      const name = `${operatorName.slice('aten::'.length).replace('.', '_')}_0_${this.bumpedAtVersion - 1}`;
      const parameters = args.map((argument) => `${argument.name}: ${argument.type.annotationStr()}`);
      [{ graph: this.#graph }] = builtinFunctionTable.compile(`def ${name}(${parameters.join(', ')}):${this.#body}\n`);
    }
    return this.#graph;
  }
}

const upgraders: ReadonlyMap<string, Upgrader> = new Map(
  CHANGES.map(([version, schema, body]) => [
    `aten::${schema.slice(0, schema.indexOf('('))}`,
    new Upgrader(version, `aten::${schema}`, body),
  ]),
);

/** The kinds of all operators that have one. */
export const upgradedKinds: readonly Symbol[] = [...new Set([...upgraders.keys()].map((name) => name.split('.')[0]!))];

/** The upgrader that an operator (`aten::div.Tensor`) of that version needs; undefined where it means the same today. */
export function findUpgrader(operatorName: string, version: number | undefined): Upgrader | undefined {
  if (version === undefined || version >= CURRENT_OPERATOR_VERSION) return undefined;
  const upgrader = upgraders.get(operatorName);
  return upgrader !== undefined && version < upgrader.bumpedAtVersion ? upgrader : undefined;
}

/** The version of the file format from which on an operator (`aten::div.Tensor`) means what it means today; 1 where it always has. */
export function currentSince(operatorName: string): number {
  return upgraders.get(operatorName)?.bumpedAtVersion ?? 1;
}
