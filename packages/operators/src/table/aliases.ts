import type { OperatorRow } from './row.ts';

/** Operators that PyTorch has under a second name (torch/csrc/jit/passes/normalize_ops.cpp), by that name. */
const secondNames: Readonly<Record<string, string>> = {
  absolute: 'abs',
  arccos: 'acos',
  arccosh: 'acosh',
  arcsin: 'asin',
  arcsinh: 'asinh',
  arctan: 'atan',
  arctan2: 'atan2',
  arctanh: 'atanh',
  clip: 'clamp',
  divide: 'div',
  fix: 'trunc',
  greater: 'gt',
  greater_equal: 'ge',
  less: 'lt',
  less_equal: 'le',
  moveaxis: 'movedim',
  multiply: 'mul',
  negative: 'neg',
  not_equal: 'ne',
  subtract: 'sub',
  true_divide: 'div',
  special_digamma: 'digamma',
  special_erf: 'erf',
  special_erfc: 'erfc',
  special_erfinv: 'erfinv',
  special_exp2: 'exp2',
  special_expit: 'sigmoid',
  special_expm1: 'expm1',
  special_gammainc: 'igamma',
  special_gammaincc: 'igammac',
  special_gammaln: 'lgamma',
  special_i0: 'i0',
  special_log1p: 'log1p',
  special_logit: 'logit',
  special_logsumexp: 'logsumexp',
  special_multigammaln: 'mvlgamma',
  special_polygamma: 'polygamma',
  special_psi: 'digamma',
  special_sinc: 'sinc',
};

/** What a second name leaves out: `special` functions have no in-place form, `true_divide` no rounding mode. */
function renamed(row: OperatorRow, name: string, alias: string): OperatorRow {
  const schema = row.schema.replace(`aten::${name}`, `aten::${alias}`);
  const isScalar = /^aten::\w+\.Scalar/.test(schema);
  return {
    ...row,
    schema,
    ...(alias.startsWith('special_') && { inPlace: undefined }),
    ...(isScalar && ['divide', 'multiply', 'subtract', 'true_divide'].includes(alias) && { out: undefined }),
  };
}

/** The first names of operators, by their second ones; both with their namespace. */
export const firstNames: ReadonlyMap<string, string> = new Map(
  Object.entries(secondNames).map(([alias, name]) => [`aten::${alias}`, `aten::${name}`]),
);

/** The rows of an operator under its second name. */
export function aliasRows(rows: readonly OperatorRow[], second: string): OperatorRow[] {
  const [name, alias] = [firstNames.get(second)!, second].map((each) => each.slice('aten::'.length));
  // Numbers have operators of their own, which go by one name.
  return rows
    .filter(({ scalar, schema }) => !scalar && (alias !== 'true_divide' || !schema.includes('rounding_mode')))
    .map((row) => renamed(row, name, alias));
}
