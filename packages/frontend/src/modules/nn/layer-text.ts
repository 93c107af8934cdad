/** Python text of the classes of torch.nn, from what tells them apart. */

interface LayerOptions {
  /** Parameters of `forward`; one tensor where they are not said. */
  readonly inputs?: string;
  readonly returns?: string;
  readonly base?: string;
  /** What `__init__` does before it keeps what it is given, and after. */
  readonly checks?: string;
  readonly made?: string;
  /** Arguments of the base class's `__init__`. */
  readonly handedOn?: string;
  /** What is kept, as {@link kept} takes it; what is given where it is not said. */
  readonly keeps?: readonly string[];
  /** Names of constants, where they are not those that are kept. */
  readonly constants?: readonly string[];
  /** Attributes with types besides those of the parameters. */
  readonly fields?: readonly string[];
  /** Methods before `forward`. */
  readonly methods?: string;
}

/** Lines of `__init__` that keep values under their names. @param names each a name, or `name = value` */
export const kept = (...names: readonly string[]): string =>
  names.map((each) => `        self.${each.includes(' = ') ? each : `${each} = ${each}`}\n`).join('');

/** A condition, Python text of the message where it holds, and the error; `ValueError` where it is not said. */
export type Check = readonly [condition: string, message: string, error?: string];

/** Lines that raise where a condition holds. */
export const refusals = (...checks: readonly Check[]): string =>
  checks
    .map(
      ([condition, message, error = 'ValueError']) =>
        `        if ${condition}:\n            raise ${error}(${message})\n`,
    )
    .join('');

/** Lines of a class that say which attributes are constants. */
export const constantsOf = (...names: readonly string[]): string =>
  names.length === 0 ? '' : `    __constants__ = [${names.map((each) => `'${each}'`).join(', ')}]\n`;

/** Methods that have one expression each. @param methods expressions, by what the methods are called and given after `self` */
export const returning = (methods: Readonly<Record<string, string>>): string =>
  Object.entries(methods)
    .map(([head, expression]) => {
      const [, name, params, rest] = /^(\w+)\((.*)\)(.*)$/.exec(head)!;
      return `\n    def ${name}(self${params === '' ? '' : `, ${params}`})${rest}:\n        return ${expression}\n`;
    })
    .join('');

/** Parameters that say what a layer makes at first, and that it forgets then. */
const FORGOTTEN = /^(bias|device|dtype|_\w+|)$/;

/**
 * A class that keeps what its `__init__` is given as constants and has one expression as its `forward`: most of torch.nn's are that.
 *
 * @param params those of `__init__`, with types and defaults
 * @param expression undefined where `forward` is another class's, or stands among the methods
 */
export function layer(name: string, params: string, expression?: string, options: LayerOptions = {}): string {
  const { inputs = 'input: Tensor', returns = ' -> Tensor', base = 'Module', fields = [] } = options;
  const { checks = '', made = '', handedOn = '', methods = '' } = options;
  const given = params.split(', ').map((param) => ({ param, name: /^\w*/.exec(param)![0] }));
  const names = given.map((each) => each.name).filter((each) => !FORGOTTEN.test(each));
  const { keeps = names } = options;
  const typed = given
    .filter((each) => keeps.some((name) => name.split(' = ')[0] === each.name))
    .map(({ param }) => param.split(' = ')[0]!)
    .filter((each) => each.includes(':'));
  const lines = [
    `\nclass ${name}(${base}):\n`,
    constantsOf(...(options.constants ?? names)),
    ...[...typed, ...fields].map((each) => `    ${each}\n`),
  ];
  if (params !== '' || made !== '') {
    lines.push(`\n    def __init__(self${params === '' ? '' : `, ${params}`}):\n`);
    lines.push(checks, `        super().__init__(${handedOn})\n`, kept(...keeps), made);
  }
  lines.push(methods);
  if (expression !== undefined)
    lines.push(`\n    def forward(self, ${inputs})${returns}:\n        return ${expression}\n`);
  return lines.join('');
}
