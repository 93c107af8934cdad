import { Random } from '../random.ts';
import { plain, run, type TensorCopy, type Way } from './execution.ts';
import { Expressions } from './expressions.ts';
import { DTYPES, FLOATS } from './inputs.ts';
import type { Call, Program } from './program.ts';
import { Scope } from './scope.ts';
import { Statements, type Statement } from './statements.ts';

/**
 * Sizes around what the code decides by: vectors of 4 and 8 elements, tiles of up to 33, 1000 elements up to which a program with a device leaves work to the host,
 * blocks of kernels, what threads share.
 */
const SIZES = [
  1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 257, 500, 999, 1000, 1001, 1023, 1024,
  1025, 1500, 2000, 2048, 3000, 4095, 4096, 4097, 5000,
]; // prettier-ignore

/** Larger ones come up seldom: they take their time. */
const LARGE = [8191, 12_288, 20_000, 33_000];

/** No element may be larger: sums and powers of it would be told apart by rounding. */
const LARGEST = 500;
const MOST_ELEMENTS = 100_000;
/** As the program is written, in little memory: what broadcasts a long vector with itself is refused before it is computed. */
const growing: Way = { ...plain, context: { device: null, memoryLimit: 16 << 20 } };

function randomSizes(random: Random): number[] {
  const count = random.chance(0.02) ? random.pick(LARGE) : random.pick(SIZES);
  const rank = random.float();
  if (rank < 0.4) return [count];
  const rows = random.pick([1, 2, 3, 4, 5, 8, 16, 32, 33]);
  if (rank < 0.8) return [rows, Math.max(1, Math.floor(count / rows))];
  const planes = random.pick([1, 2, 3, 4]);
  return [planes, Math.min(rows, 8), Math.max(1, Math.floor(count / planes / Math.min(rows, 8)))];
}

/**
 * Calls with equal elements, equal ones again, others, of three other sizes, the second of these once more, and of the first again; after those as
 * many as are wanted, of sizes that were there before and of new ones in turns.
 */
function randomCalls(random: Random, sizes: readonly number[], count: number): Call[] {
  const first = { sizes, seed: random.below(1 << 20), n: 1 + random.below(4) };
  // Now and then another dimension has another size too.
  const others = (): number[] => {
    const along = random.chance(0.2) ? random.below(sizes.length) : sizes.length - 1;
    const size = random.chance(0.1) ? random.below(2) : randomSizes(random).at(-1)!;
    const rest = sizes.reduce((count, each, dim) => (dim === along ? count : count * each), 1);
    return sizes.with(along, Math.min(size, Math.ceil(MOST_ELEMENTS / 3 / rest)));
  };
  const [second, third, fourth] = [others(), others(), others()];
  const n = (): number => 1 + random.below(4);
  const calls: Call[] = [
    first,
    first,
    { ...first, seed: first.seed + 1, n: n() },
    { sizes: second, seed: first.seed + 2, n: first.n },
    { sizes: third, seed: first.seed + 3, n: first.n },
    { sizes: fourth, seed: first.seed + 4, n: first.n },
    { sizes: third, seed: first.seed + 5, n: n() },
    { ...first, seed: first.seed + 6, n: n() },
  ];
  while (calls.length < count) {
    const again = random.chance(0.7) ? random.pick(calls).sizes : others();
    calls.push({ sizes: again, seed: first.seed + calls.length, n: n() });
  }
  return calls;
}

/** How programs of seeds are grown. */
export interface Growth {
  readonly isDifferentiated?: boolean;
  /** Calls that are made at least. */
  readonly calls?: number;
}

/** A program that fell over while it grew: nothing that is written may do that. */
export class GrowthFailure extends Error {
  constructor(
    readonly program: Program,
    what: string,
  ) {
    super(what);
  }
}

/**
 * Grows the program of a seed statement by statement. Each is kept where the program as it is written can be run with it, once, and where what it comes to stays small.
 * Throws a {@link GrowthFailure} where that run ends with an error that no program should see.
 */
export async function growProgram(
  seed: number,
  { isDifferentiated = false, calls = 0 }: Growth = {},
): Promise<Program> {
  const random = new Random(seed * 2654435761);
  const sizes = randomSizes(random);
  let program: Program = {
    seed,
    dtype: random.pick(isDifferentiated ? FLOATS : DTYPES),
    stateSizes: random.chance(0.7) ? sizes : sizes.slice(-1),
    isAliased: random.chance(0.12),
    isDifferentiated,
    statements: [],
    results: ['x', 'y', 'self.s'],
    calls: randomCalls(random, sizes, calls),
  };
  const scope = new Scope();
  const expressions = new Expressions(random, scope);
  const statements = new Statements(random, scope, expressions);
  const wanted = 2 + random.below(8);
  await learn(program, scope);
  for (let tries = 0; program.statements.length < wanted && tries < wanted * 6; tries++) {
    const statement = statements.any();
    const next = withStatement(program, statement, scope);
    if (!(await learn(next, scope))) continue;
    program = next;
    scope.lists.push(...(statement.lists ?? []));
    scope.dicts.push(...(statement.dicts ?? []));
    scope.numbers.push(...(statement.numbers ?? []));
    scope.numberLists.push(...(statement.numberLists ?? []));
  }
  return { ...program, results: someResults(random, scope) };
}

/** What is returned while a program grows is every tensor that has a name. */
function withStatement(program: Program, { lines, tensors = [] }: Statement, scope: Scope): Program {
  const results = [...new Set([...scope.tensors.keys(), ...tensors])];
  return { ...program, statements: [...program.statements, lines], results };
}

function someResults(random: Random, scope: Scope): string[] {
  const names = [...scope.tensors.keys()];
  const results = new Set([random.pick(names), names.at(-1)!, random.pick(names)]);
  if (random.chance(0.3)) results.add(`torch.cat([e.reshape(-1) for e in ${random.pick(scope.lists)}])`);
  if (random.chance(0.2)) results.add(`torch.cat([e.reshape(-1) for e in list(${random.pick(scope.dicts)}.values())])`);
  if (random.chance(0.5)) results.add(random.pick(scope.numbers));
  if (scope.numberLists.length > 0) results.add(random.pick(scope.numberLists));
  return [...results];
}

/** Notes what the tensors of a program are after its first call; false, and nothing is noted, where that fails or makes too much. */
async function learn(program: Program, scope: Scope): Promise<boolean> {
  const [outcome] = await run({ ...program, calls: program.calls.slice(0, 1) }, growing);
  if ('error' in outcome) {
    if (outcome.isInternal) throw new GrowthFailure(program, outcome.error);
    return false;
  }
  for (const value of outcome.values.values()) if (typeof value === 'object' && !staysSmall(value)) return false;
  program.results.forEach((name, at) => {
    const value = outcome.values.get(`result ${at}`);
    if (typeof value === 'object') scope.tensors.set(name, value);
  });
  return true;
}

function staysSmall({ dtype, elements, sizes }: TensorCopy): boolean {
  if (sizes.reduce((count, size) => count * size, 1) > MOST_ELEMENTS) return false;
  if (dtype === 'float16') return (elements as Uint16Array).every((bits) => (bits & 0x7fff) < 0x5fd0);
  for (let at = 0; at < elements.length; at++) if (!(elements[at] <= LARGEST && elements[at] >= -LARGEST)) return false;
  return true;
}
