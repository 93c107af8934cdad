import type { CaseResult, Check } from '../cases/case.ts';

/** The table of suites, the commonest reasons, and the closing line that scripts read. */
export function report(results: readonly CaseResult[], checks: readonly Check[] = [], isTiled = false): string {
  const suites = new Map<string, { cases: number; passed: number }>();
  const reasons = new Map<string, { count: number; example: string }>();
  const fallbacks = new Map<string, number>();
  for (const { id, suite, passed, reason, hostFallbacks } of results) {
    const counts = suites.get(suite) ?? { cases: 0, passed: 0 };
    suites.set(suite, { cases: counts.cases + 1, passed: counts.passed + (passed ? 1 : 0) });
    if (!passed) {
      const key = reason ?? 'unknown';
      const known = reasons.get(key);
      reasons.set(key, { count: (known?.count ?? 0) + 1, example: known?.example ?? id });
    }
    for (const [operator, count] of Object.entries(hostFallbacks ?? {})) {
      fallbacks.set(operator, (fallbacks.get(operator) ?? 0) + count);
    }
  }
  const passed = results.filter((result) => result.passed).length;
  const lines = [row('suite', 'cases', 'passed', 'failed')];
  for (const [suite, counts] of [...suites].sort(([a], [b]) => (a < b ? -1 : 1))) {
    lines.push(row(suite, counts.cases, counts.passed, counts.cases - counts.passed));
  }
  if (reasons.size > 0) {
    lines.push('', 'commonest reasons:');
    const commonest = [...reasons].sort(([, a], [, b]) => b.count - a.count).slice(0, 10);
    for (const [reason, { count, example }] of commonest)
      lines.push(`${String(count).padStart(6)}  ${reason}  (${example})`);
  }
  if (fallbacks.size > 0) {
    const named = [...fallbacks].sort(([, a], [, b]) => b - a).map(([operator, count]) => `${operator} ${count}`);
    lines.push('', `ran on the host for want of a kernel: ${named.join(', ')}`);
  }
  if (checks.includes('gradcheck')) lines.push('', gradientLine(results));
  if (isTiled) {
    const unfit = results.filter(({ unchecked }) => unchecked !== undefined).length;
    const different = results.length - passed;
    lines.push('', `tiled: ${passed - unfit} same, ${different} different, ${unfit} that no tiling fits`);
  }
  lines.push('', `TOTAL: ${results.length} cases, ${passed} passed, ${results.length - passed} failed`);
  return lines.join('\n');
}

/** How many operators have right gradients in every sample that has any. */
function gradientLine(results: readonly CaseResult[]): string {
  const operators = new Map<string, boolean>();
  for (const { suite, passed, unchecked } of results) {
    if (unchecked !== undefined) continue;
    const name = suite.slice(suite.indexOf('/') + 1);
    operators.set(name, passed && (operators.get(name) ?? true));
  }
  const right = [...operators.values()].filter(Boolean).length;
  const compared = results.filter(({ unchecked }) => unchecked === undefined).length;
  return `gradients: ${compared} samples compared; ${right} of ${operators.size} operators right in all of theirs`;
}

function row(suite: string, ...counts: (number | string)[]): string {
  return suite.padEnd(56) + counts.map((count) => String(count).padStart(8)).join('');
}
