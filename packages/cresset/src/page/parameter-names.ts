/** Names of a function's parameters, as far as its source has plain names. */
export function parameterNames(fn: object): readonly string[] {
  const match = /^(?:async\s+)?(?:function\b\s*\w*\s*|\w+\s*(?=\())?(?:\(([^)]*)\)|(\w+)\s*=>)/.exec(String(fn));
  const list = match?.[1] ?? match?.[2] ?? '';
  const names = list.split(',').map((name) => name.trim());
  return names.every((name) => /^[A-Za-z_]\w*$/.test(name)) ? names : [];
}
