interface LayerOptions {
  /** Parameters of `forward`; one tensor where they are not said. */
  readonly inputs?: string;
  readonly returns?: string;
  readonly base?: string;
  /** What `__init__` does first. */
  readonly checks?: string;
}

/**
 * A class that keeps what its `__init__` is given as constants and has one expression as its `forward`: most of torch.nn's are that.
 *
 * @param params those of `__init__`, with types and defaults
 */
export function simpleLayer(name: string, params: string, expression: string, options: LayerOptions = {}): string {
  const { inputs = 'input: Tensor', returns = ' -> Tensor', base = 'Module', checks = '' } = options;
  const listed = params === '' ? [] : params.split(', ');
  const names = listed.map((param) => /^\w+/.exec(param)![0]);
  const annotations = listed.map((param) => `    ${param.split(' = ')[0]}\n`).join('');
  const assigned = names.map((each) => `        self.${each} = ${each}\n`).join('');
  const constants = names.length === 0 ? '' : `    __constants__ = [${names.map((each) => `'${each}'`).join(', ')}]\n`;
  const init =
    names.length === 0 ? '' : `\n    def __init__(self, ${params}):\n        super().__init__()\n${checks}${assigned}`;
  return `
class ${name}(${base}):
${constants}${annotations}${init}
    def forward(self, ${inputs})${returns}:
        return ${expression}
`;
}
