/** What formulas call the gradient of a result. */
export const gradientName = (result: number): string => (result === 0 ? 'grad' : `grad${result}`);

/** What formulas call the results: by the schema's names, or `result`, or numbered. */
export const resultNames = (returns: readonly { readonly name: string }[]): string[] =>
  returns.map(({ name }, at) => name || (returns.length === 1 ? 'result' : `result${at}`));
