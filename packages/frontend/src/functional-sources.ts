/** TorchScript texts of functions that are Python in PyTorch, by module. */
export const FUNCTIONAL_SOURCES: Readonly<Record<string, string>> = {};
