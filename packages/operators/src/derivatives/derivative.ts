/**
 * How the derivatives of one overload are worked out, in the manner of PyTorch's derivatives.yaml: for an input, or several at a time (`'input, weight'`), a
 * TorchScript expression of its gradient, or the lines of a function body that returns it. What a text names is what is kept of a call:
 *
 * - an input by its name, a result by its name in the schema, `result` where there is one and `result0`, `result1`, … else;
 * - `grad`, the gradient of the first result, and `grad1`, … of others, zeros where nothing was computed with one; `grads`, a list, where
 *   the operator gives a list of tensors;
 * - `arrived`, for several results, tells which of their gradients there are: where zeros would come to something else than nothing;
 * - `wanted`, for several inputs at a time, tells which of them want a gradient: a tuple is returned, in which the others may be anything.
 * - under `~` stand inputs by which gradients do not change, and yet have gradients of zeros in PyTorch: they are kept for the step backwards there;
 * - under `*` stand inputs that PyTorch's one operator takes for all of the gradients: each is known to come of all of them, and has no gradient by
 *   those that it does not change with;
 * - under `=` stands the body of a function that says the operator in terms of others, whose derivatives are taken in its stead.
 *
 * Gradients need to have neither the dtype of the input nor its shape, if that can be expanded to theirs: they are converted and summed.
 */
export type DerivativeFormulas = Readonly<Record<string, string>>;

/** Derivatives by `name.overload`, without `aten::`. */
export type DerivativeTable = Readonly<Record<string, DerivativeFormulas>>;

/** The same formulas for several overloads. */
export function forOverloads(names: string, formulas: DerivativeFormulas): DerivativeTable {
  return Object.fromEntries(names.split(' ').map((name) => [name, formulas]));
}

/** Functions of one input, by name: `result` is what they gave. */
export function unary(formulas: Readonly<Record<string, string>>): DerivativeTable {
  return Object.fromEntries(Object.entries(formulas).map(([name, self]) => [name, { self }]));
}

/** Functions that are flat wherever they have a slope. */
export function flat(names: string): DerivativeTable {
  return forOverloads(names, { self: 'torch.zeros_like(grad)' });
}

/** A gradient that PyTorch does not have either: whoever asks for it is told so, in its words. */
export const notImplemented = (what: string): string => `not_implemented("${what}")`;

/** PyTorch's error where a formula is {@link notImplemented}; null for any other. */
export function refusalOf(formula: string): string | null {
  const what = /^not_implemented\("(.*)"\)$/.exec(formula)?.[1];
  return what === undefined ? null : `the derivative for '${what}' is not implemented.`;
}
