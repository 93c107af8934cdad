import type { Program } from './program.ts';

/** A program that still has what is looked for, made smaller until nothing more can go: calls, statements, lines, results, elements. */
export async function reduce(program: Program, isStillWrong: (program: Program) => Promise<boolean>): Promise<Program> {
  let smallest = program;
  for (let changed = true; changed;) {
    changed = false;
    for (const candidate of smaller(smallest)) {
      if (!(await isStillWrong(candidate))) continue;
      smallest = candidate;
      changed = true;
      break;
    }
  }
  return smallest;
}

const without = <Item>(items: readonly Item[], at: number): Item[] => items.filter((_, other) => other !== at);

function* smaller(program: Program): Generator<Program> {
  const { calls, statements, results } = program;
  if (results.join() !== 'x') yield { ...program, results: ['x'] };
  for (let at = calls.length - 1; at >= 0 && calls.length > 1; at--) yield { ...program, calls: without(calls, at) };
  for (let at = statements.length - 1; at >= 0; at--) yield { ...program, statements: without(statements, at) };
  for (const [at, lines] of statements.entries()) {
    for (let line = lines.length - 1; line > 0; line--) {
      // What counts the trips of a while loop stays: without it the loop does not end.
      if (lines[line - 1].startsWith('while ')) continue;
      yield { ...program, statements: statements.map((each, other) => (other === at ? without(lines, line) : each)) };
    }
  }
  for (let at = results.length - 1; at >= 0 && results.length > 1; at--)
    yield { ...program, results: without(results, at) };
  if (program.isAliased) yield { ...program, isAliased: false };
  if (calls[0].sizes.length > 1) {
    const flat = (sizes: readonly number[]): number[] => [sizes.reduce((count, size) => count * size, 1)];
    yield {
      ...program,
      stateSizes: flat(program.stateSizes),
      calls: calls.map((call) => ({ ...call, sizes: flat(call.sizes) })),
    };
  }
  const largest = Math.max(...program.stateSizes, ...calls.flatMap(({ sizes }) => sizes));
  for (const size of [2, 8, 40, 1001]) {
    if (size >= largest) continue;
    const cut = (sizes: readonly number[]): number[] => sizes.map((each) => (each === largest ? size : each));
    yield {
      ...program,
      stateSizes: cut(program.stateSizes),
      calls: calls.map((call) => ({ ...call, sizes: cut(call.sizes) })),
    };
  }
}

/** A program and its calls as a person reads them. */
export function describe(program: Program, source: string): string {
  const { dtype, stateSizes, isAliased, calls } = program;
  const given = calls.map(
    ({ sizes, seed, n }, at) => `call ${at + 1}: ${dtype}[${sizes.join()}] of seed ${seed}, n = ${n}`,
  );
  return [source, `s: [${stateSizes.join()}]${isAliased ? ', y is x' : ''}`, ...given].join('\n');
}
