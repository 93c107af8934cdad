/** Where a model comes from: an address, a file, or the text of a module's methods. */
export type ModelSource =
  | { readonly name: string; readonly input: string | File }
  | { readonly name: string; readonly code: string };

export const bundledModel = { name: 'digits.pt', input: './models/digits.pt' } satisfies ModelSource;
