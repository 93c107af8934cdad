import type { CaseResult } from '../cases/case.ts';

/** The most used operators of a table (`name<TAB>…`, by falling use) that ran on the host for want of a kernel, with why. */
export function mostUsedFallbacks(results: readonly CaseResult[], table: string, count = 200): string {
  const used = table
    .split('\n')
    .map((line) => line.split('\t')[0])
    .filter((name) => name.startsWith('aten::'))
    .slice(0, count);
  const reasons = new Map<string, Map<string, { count: number; example: string }>>();
  for (const { id, hostFallbacks, fallbackReasons } of results) {
    for (const operator of Object.keys(hostFallbacks ?? {})) {
      const [name] = operator.split('.');
      const reason = fallbackReasons?.[operator] ?? 'unknown';
      const byReason = reasons.get(name) ?? new Map<string, { count: number; example: string }>();
      const known = byReason.get(reason);
      byReason.set(reason, { count: (known?.count ?? 0) + 1, example: known?.example ?? id });
      reasons.set(name, byReason);
    }
  }
  const lines = used.flatMap((name) =>
    [...(reasons.get(name) ?? [])].map(
      ([reason, { count: cases, example }]) =>
        `  ${name.padEnd(36)} ${String(cases).padStart(5)}  ${reason}  (${example})`,
    ),
  );
  const without = used.filter((name) => !reasons.has(name)).length;
  return [`of the ${used.length} most used operators ${without} never fell back to the host`, ...lines].join('\n');
}
