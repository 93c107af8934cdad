import type { Input, InputExpectation, InputExpectations } from 'cresset';
import { chosenValue, firstChoice, isTensorType, type Choice } from './argument-value.ts';
import type { Parameter } from './schema.ts';

/** Sizes to try for what a program leaves open, by the number of dimensions: pictures, volumes, sequences. */
const COMMON_SIZES: Readonly<Record<number, readonly number[]>> = {
  2: [8, 16, 64, 512, 1024],
  3: [32, 64, 256, 1024],
  4: [64, 224, 32, 28, 96, 128, 256, 299, 16],
  5: [16, 32, 8],
};
/** Length of a sequence of indices. */
const SEQUENCE = 8;
/** So many calls are tried at most. */
const MAX_CANDIDATES = 40;

/** What forms may start with, the likeliest first: shapes with the sizes that the program tells, and one of these for those it does not. */
export function candidateChoices(
  parameters: readonly Parameter[],
  { inputs, sizes }: InputExpectations,
): (readonly Choice[])[] {
  const byName = new Map(inputs.map((input) => [input.name, input]));
  const ranks = inputs.map(({ shape }) => shape?.length ?? 0);
  const common = COMMON_SIZES[Math.max(2, ...ranks)] ?? COMMON_SIZES[2];
  const told = sizes.filter((size) => size >= common[0] / 2 && size <= 4096).toSorted((a, b) => b - a);
  const isOpen = inputs.some(({ shape }) => shape?.slice(1).includes(null) ?? true);
  const open = isOpen ? [...new Set([common[0], ...told, ...common])] : [common[0]];
  const first = inputs.find(({ shape }) => shape)?.shape;
  const unknown = parameters.filter((parameter) => isUnknown(parameter, byName.get(parameter.name)));
  const candidates = open.flatMap((size) => {
    const likeFirst = first ? filledShape(first, size) : [1, size];
    return combinations(unknown.map(({ name }) => variantsOf(byName.get(name), likeFirst, size))).map((variants) =>
      parameters.map((parameter) => {
        const variant = variants[unknown.indexOf(parameter)];
        return choiceFor(parameter, byName.get(parameter.name), size, variant);
      }),
    );
  });
  const distinct = new Map(candidates.map((choices) => [JSON.stringify(choices), choices]));
  return [...distinct.values()].slice(0, MAX_CANDIDATES);
}

/** Trying ends after this time, in milliseconds. */
const MAX_SEARCH = 8000;

/** The arguments by name, as a form has them. Throws where a field cannot be read. */
export function argumentsOf(parameters: readonly Parameter[], choices: readonly Choice[]): Record<string, Input> {
  return Object.fromEntries(
    parameters.flatMap((parameter, index) => {
      const choice = choices[index];
      if (!choice.isLeftOut) return [[parameter.name, chosenValue(parameter, choice)] as const];
      return parameter.defaultText === undefined ? [[parameter.name, null] as const] : [];
    }),
  );
}

/**
 * Does `work` with the first candidates, and where it fails with the next, until it succeeds: what a program leaves open shows when it runs.
 * Rejects with the error of the first.
 */
export async function withFitting<Result>(
  candidates: readonly (readonly Choice[])[],
  signal: AbortSignal,
  work: (choices: readonly Choice[]) => Promise<Result>,
): Promise<{ readonly result: Result; readonly choices: readonly Choice[] }> {
  const end = performance.now() + MAX_SEARCH;
  const errors: unknown[] = [];
  for (const choices of candidates) {
    try {
      return { result: await work(choices), choices };
    } catch (error) {
      errors.push(error);
      if (signal.aborted || performance.now() > end) break;
    }
  }
  throw errors[0];
}

/** How an input may be, where the program does not tell. */
type Variant = Pick<Choice, 'dtype' | 'shape' | 'fill'>;

/** A tensor that has to be given, and of whose sizes nothing is known. */
function isUnknown({ type, defaultText }: Parameter, expectation: InputExpectation | undefined): boolean {
  return isTensorType(type) && type.kind !== 'optional' && defaultText === undefined && !expectation?.shape;
}

function variantsOf(
  expectation: InputExpectation | undefined,
  likeFirst: readonly number[],
  size: number,
): readonly Variant[] {
  const { dtype = null, below = null } = expectation ?? {};
  // Indices of what has no size here stay in range as zeros.
  const indices = (...shape: number[]): Variant => ({
    dtype: 'int64',
    shape: shape.join(', '),
    fill: below === null ? 'zeros' : 'random',
  });
  const numbers = (...shape: number[]): Variant => ({
    dtype: dtype ?? 'float32',
    shape: shape.join(', '),
    fill: dtype === 'bool' ? 'ones' : 'random',
  });
  if (dtype === 'int64') {
    return below === null ? [indices(2, SEQUENCE), indices(1), indices(1, SEQUENCE)] : [indices(1, SEQUENCE)];
  }
  const known = [numbers(...likeFirst), numbers(1, size), numbers(size), numbers(1, 3, size, size)];
  return dtype ? known : [...known, indices(1), indices(1, SEQUENCE)];
}

/** Every way to take one of each; the last changes fastest. */
function combinations<Item>(lists: readonly (readonly Item[])[]): Item[][] {
  return lists.reduce<Item[][]>((all, list) => all.flatMap((each) => list.map((item) => [...each, item])), [[]]);
}

function choiceFor(
  parameter: Parameter,
  expectation: InputExpectation | undefined,
  size: number,
  variant: Variant | undefined,
): Choice {
  const choice = { ...firstChoice(parameter), ...variant };
  if (!expectation) return choice;
  const { dtype, shape, below, value } = expectation;
  if (!isTensorType(parameter.type)) return value === null ? choice : { ...choice, text: String(value) };
  if (variant || !shape) return { ...choice, below };
  const isIndex = dtype === 'int64';
  return {
    ...choice,
    below,
    dtype: dtype ?? 'float32',
    shape: filledShape(shape, isIndex ? SEQUENCE : size).join(', '),
    fill: isIndex && below === null ? 'zeros' : dtype === 'bool' ? 'ones' : 'random',
  };
}

/** The first dimension mostly is a batch. */
function filledShape(shape: readonly (number | null)[], size: number): number[] {
  return shape.map((each, dim) => each ?? (dim === 0 && shape.length > 1 ? 1 : size));
}
