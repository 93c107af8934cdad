import { readFileSync } from 'node:fs';
import {
  ignore,
  python,
  script,
  tensor,
  trace,
  type CompilationUnit,
  type GlobalValue,
  type IgnoredFunction,
  type ScriptModule,
  type Tensor,
} from '../index.ts';
import { decoded, type Encoded } from './python-cases-fixture.ts';

/** Where the cases are that PyTorch made of programs whose names somebody else gave them. */
export const globalsFolder = new URL('../../../../conformance/globals/', import.meta.url);

/** A name with what it means: a value, an enum, a value that Python says, or one of {@link named}. */
export type Given =
  | { readonly value: Encoded }
  | { readonly enum: Readonly<Record<string, number | string>> }
  | { readonly python: string }
  | { readonly named: string };

const times = (x: Tensor, factor: number): Tensor =>
  tensor(
    (x.data as Float32Array).map((each) => each * factor),
    { shape: x.shape },
  );

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The functions of `host.py`. */
export const HOST_FUNCTIONS: Readonly<Record<string, IgnoredFunction>> = {
  decode: ignore('(s: str) -> List[int]', async (s: string) => Array.from(s, (each) => each.codePointAt(0)!)),
  double: (x: Tensor) => times(x, 2),
  mix: ignore('(x, y)', (x: Tensor, y: Tensor) => {
    const other = y.data as Float32Array;
    return tensor(
      (x.data as Float32Array).map((each, at) => each + 3 * other[at]!),
      { shape: x.shape },
    );
  }),
  total: ignore(
    '(values: List[float], scale: float = 1.0) -> float',
    (values: number[], scale: number) => sum(values) * scale,
  ),
  divide: ignore('(a: int, b: int) -> Tuple[int, int]', (a: number, b: number) => [Math.floor(a / b), a % b]),
  lookup: ignore('(table: Dict[str, int], key: str) -> Optional[int]', (table: Map<string, number>, key: string) =>
    table.get(key),
  ),
  note: ignore('(x: Tensor) -> None', () => undefined),
  fail: ignore('(x)', () => {
    throw new TypeError('no such thing');
  }),
  parts: ignore('(x: Tensor, n: int) -> List[Tensor]', (x: Tensor, n: number) =>
    Array.from({ length: n }, (_, i) => times(x, i)),
  ),
  lie: ignore('(x: Tensor) -> int', () => 'a'),
  is_long: ignore('(s: str) -> bool', (s: string) => s.length > 3),
};

class Scale {
  bias = tensor([1, 1]);

  forward(x: { mul(factor: number): { add(y: unknown): unknown } }): unknown {
    return x.mul(2).add(this.bias);
  }
}

const cpu = { device: 'cpu', worker: false } as const;

/** What programs can be given by name: functions of `host.py`, what `library.py` defines, and traces. */
export async function namedGlobals(): Promise<{
  readonly unit: CompilationUnit;
  readonly named: ReadonlyMap<string, GlobalValue>;
}> {
  const unit = await script(readFileSync(new URL('library.py', globalsFolder), 'utf8'), cpu);
  const members = ['swish', 'clip', 'pick', 'ramp', 'Color', 'Point', 'Tally'].map(
    (name) => [name, (unit as unknown as Record<string, GlobalValue>)[name]] as const,
  );
  const ones = (): Tensor => tensor([1, 1]);
  const traced: (readonly [string, ScriptModule])[] = [
    ['traced_scale', await trace((x) => x.mul(3), [ones()], cpu)],
    ['traced_pair', await trace((x, y) => [x.add(y), x.sub(y)], [ones(), ones()], cpu)],
    ['traced_module', await trace(new Scale() as never, [ones()], cpu)],
    ['scale', await unit.construct('Scale')],
  ];
  return { unit, named: new Map([...Object.entries(HOST_FUNCTIONS), ...members, ...traced, ['unit', unit]]) };
}

export function givenValue(given: Given, named: ReadonlyMap<string, GlobalValue>): GlobalValue {
  if ('value' in given) return decoded(given.value);
  if ('python' in given) return python(given.python);
  return 'enum' in given ? given.enum : named.get(given.named)!;
}
