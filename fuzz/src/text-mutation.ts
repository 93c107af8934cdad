import type { Random } from './random.ts';

/** Splits source or IR text into words, numbers, strings, signs and white space; joined, it is the text again. */
export function tokensOf(text: string): string[] {
  return text.match(/[A-Za-z_]\w*|\d[\d._]*(?:e[+-]?\d+)?j?|"(?:[^"\\\n]|\\.)*"|\n[ \t]*|[ \t]+|[^\w\s]/g) ?? [];
}

const isBlank = (token: string): boolean => token.trim() === '';

/** What a literal may be that nobody writes. */
const HUGE_LITERALS = [
  '0',
  '-1',
  '9223372036854775807',
  '9223372036854775808',
  '1' + '0'.repeat(400),
  '1e309',
  '0x' + 'F'.repeat(300),
  '1e-400',
  '2147483648',
  '1000000',
  '1j',
  '"' + 'a'.repeat(5000) + '"',
  '""',
];

/** Openings and endings by which text nests: expressions, types, statements are made deep of them. */
const NESTINGS: readonly (readonly [string, string])[] = [
  ['(', ')'],
  ['[', ']'],
  ['{1: ', '}'],
  ['-', ''],
  ['not ', ''],
  ['~', ''],
  ['List[', ']'],
  ['Optional[', ']'],
  ['Dict[str, ', ']'],
  ['f(', ')'],
  ['', '.x'],
  ['', '[0]'],
  ['', '()'],
  ['1 + ', ''],
  ['', ' ** 2'],
  ['1 if True else ', ''],
  ['[i for i in ', ']'],
  ['lambda x: ', ''],
  ['[', ' for i in [1]]'],
  ['{k: ', ' for k in [1]}'],
  ['Tuple[int, ', ']'],
  ['Union[str, ', ']'],
  ['Future[', ']'],
  ['int(', ')'],
  ['abs(', ')'],
  ['', '.abs()'],
  ['', '.x()'],
  ['', '[0:1]'],
  ['', ' < 1'],
  ['', ' + 1'],
  ['', ' and True'],
  ['', ' if True else 1'],
  ['f"{', '}"'],
  ['(', ',)'],
  ['', '[]'],
  ['', '?'],
  ['', ' "a"'],
];

/** Headers of statements that blocks lie under. */
const HEADERS = ['if True:', 'for i in range(1):', 'while False:', 'with torch.no_grad():', 'try:', 'def g():'];

/** Statements that make something large or deep when there are many of them in a row. */
const ROWS: readonly ((index: number) => string)[] = [
  (index) => `if True:\n        return ${index}`,
  (index) => `if x > ${index}:\n        return x`,
  (index) => `x${index + 1} = [x${index}]`,
  (index) => `x${index + 1} = (x${index}, x${index})`,
  (index) => `x = x + ${index}`,
  (index) => `for i in range(${index % 3}):\n        x = i`,
  () => 'assert True, "no"',
  (index) => `l${index}: List[int] = []`,
];

/** Blocks of a graph within each other. */
const GRAPH_BLOCKS = ['prim::Loop(%x, %x)', 'prim::If(%x)'];

const DEPTHS = [5, 60, 400, 5000, 50_000];

type Mutation = (tokens: string[], random: Random, vocabulary: readonly string[]) => void;

const mutations: readonly Mutation[] = [
  (tokens, random) => void tokens.splice(random.below(tokens.length), 1 + random.below(3)),
  (tokens, random, vocabulary) => void tokens.splice(random.below(tokens.length), 0, random.pick(vocabulary)),
  (tokens, random, vocabulary) => void (tokens[random.below(tokens.length)] = random.pick(vocabulary)),
  (tokens, random) => {
    const [from, to] = [random.below(tokens.length), random.below(tokens.length)];
    [tokens[from], tokens[to]] = [tokens[to], tokens[from]];
  },
  // A stretch again, here or elsewhere: statements and blocks where they do not belong.
  (tokens, random) => {
    const from = random.below(tokens.length);
    const piece = tokens.slice(from, from + 1 + random.below(20));
    tokens.splice(random.below(tokens.length), 0, ...piece);
  },
  (tokens, random) => replaceMatching(tokens, random, /^[\d"]/, random.pick(HUGE_LITERALS)),
  (tokens, random) => {
    const [open, close] = random.pick(NESTINGS);
    const depth = random.pick(DEPTHS);
    const at = randomWord(tokens, random);
    tokens[at] = open.repeat(depth) + tokens[at] + close.repeat(depth);
  },
  (tokens, random) => replaceMatching(tokens, random, /^\n/, `\n${' '.repeat(random.below(12))}`),
  // Blocks within blocks.
  (tokens, random) => {
    const depth = random.pick([3, 50, 400, 700]);
    const header = random.pick(HEADERS);
    const lines = Array.from({ length: depth }, (_, level) => `${' '.repeat(4 + level)}${header}\n`);
    replaceMatching(tokens, random, /^\n/, `\n${lines.join('')}${' '.repeat(depth + 5)}`);
  },
  (tokens, random) => {
    const count = random.pick([3, 60, 600, 3000]);
    const row = random.pick(ROWS);
    const lines = Array.from({ length: count }, (_, index) => `    ${row(index)}\n`);
    replaceMatching(tokens, random, /^\n/, `\n    x0 = 1\n${lines.join('')}    `);
  },
  (tokens, random) => {
    const count = random.pick([3, 60, 3000]);
    replaceMatching(
      tokens,
      random,
      /^\n/,
      `\n    if x == 0:\n        x = 1\n${'    elif x == 1:\n        x = 2\n'.repeat(count)}    `,
    );
  },
  // Functions that call the next one, once or more often.
  (tokens, random) => {
    const count = random.pick([3, 12, 60, 1000]);
    const call = random.pick(['', ' + g$(x)', ' + g$(x + 1) + g$(2)']);
    const functions = Array.from(
      { length: count },
      (_, index) =>
        `def g${index}(x: int) -> int:\n    return g${index + 1}(x)${call.replaceAll('$', `${index + 1}`)}\n`,
    );
    tokens.unshift(`${functions.join('')}def g${count}(x: int) -> int:\n    return x\n`);
  },
  (tokens, random) => {
    const depth = random.pick([3, 100, 5000]);
    const node = random.pick(GRAPH_BLOCKS);
    replaceMatching(tokens, random, /^\n/, `\n  ${`${node}\n    block0():\n      `.repeat(depth)}`);
  },
  // Very much of one thing.
  (tokens, random) => {
    const at = randomWord(tokens, random);
    tokens[at] = `${`${tokens[at].slice(0, 100)}, `.repeat(random.pick([50, 2000]))}${tokens[at]}`;
  },
  (tokens, random) => {
    tokens[random.below(tokens.length)] = String.fromCharCode(random.below(random.chance(0.5) ? 128 : 0xffff));
  },
];

function randomWord(tokens: readonly string[], random: Random): number {
  let at = random.below(tokens.length);
  for (let tries = 20; tries > 0 && isBlank(tokens[at]); tries--) at = random.below(tokens.length);
  return at;
}

function replaceMatching(tokens: string[], random: Random, pattern: RegExp, replacement: string): void {
  const places = tokens.flatMap((token, index) => (pattern.test(token) ? [index] : []));
  if (places.length > 0) tokens[random.pick(places)] = replacement;
}

/** Longer inputs take longer to make than to refuse. */
const MAX_CHARACTERS = 300_000;

/** Edits text token by token. @param vocabulary tokens to put in, those of all texts of the kind. */
export function mutateText(text: string, random: Random, vocabulary: readonly string[]): string {
  if (text.length > MAX_CHARACTERS) return text;
  const tokens = tokensOf(text);
  for (let times = random.count(); times > 0 && tokens.length > 0; times--) {
    const before = tokens.slice();
    random.pick(mutations)(tokens, random, vocabulary);
    if (tokens.reduce((sum, token) => sum + token.length, 0) > MAX_CHARACTERS) return before.join('');
  }
  return tokens.join('');
}
