import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** The parameters of a schema as TorchScript has them: `Scalar min_val` is `min_val: number`. */
const types: Readonly<Record<string, string>> = {
  Scalar: 'number',
  SymInt: 'int',
  'SymInt[]': 'List[int]',
  'bool[2]': 'List[bool]',
  'int[2]': 'List[int]',
  'bool[3]': 'List[bool]',
  'int[]': 'List[int]',
  ScalarType: 'int',
};

function parameter(text: string): string {
  const [written, rest] = text.split(' ');
  const name = rest.split('=')[0];
  const optional = written.endsWith('?');
  const plain = (optional ? written.slice(0, -1) : written).replace('(a)', '');
  const type = types[plain] ?? plain;
  return `${name}: ${optional ? `Optional[${type}]` : type}`;
}

const resultTypes = (results: string): string => {
  const plain = results.replaceAll('(a)', '');
  // Results may have names, which TorchScript's types have not.
  return plain.startsWith('(') ? `Tuple[${plain.slice(1, -1).replaceAll(/ (?!Tensor)\w+/g, '')}]` : plain;
};

/**
 * A derivative by its schema and the body of its formula; `grad_input` is what those with one result call their `out`.
 *
 * @param functions TorchScript functions that the body calls
 */
export function derivative(signature: string, body: string, out?: string, functions = ''): OperatorRow {
  const open = signature.indexOf('(');
  const close = signature.indexOf(') -> ');
  const params = signature
    .slice(open + 1, close)
    .split(', ')
    .filter((text) => text !== '*');
  const lines = body
    .trim()
    .split('\n')
    .map((line) => `    ${line}`);
  return decomposed(
    `aten::${signature}`,
    `
def ${signature.slice(0, open)}(${params.map(parameter).join(', ')}) -> ${resultTypes(signature.slice(close + 5))}:
${lines.join('\n')}
${functions}`,
    out === undefined ? {} : { out },
  );
}
