import type { VerificationReport } from 'cresset';

/** What came of doing every operator on both devices, and of the program as a whole. */
export function VerificationNotice({ report }: { report: VerificationReport }) {
  const { passed, compared, notOnDevice, runs, differences } = report;
  return (
    <div role="status" aria-label="Comparison" class="stack">
      <p>
        {compared} operators or fused groups did the same work on the GPU and on the CPU
        {notOnDevice > 0 && `; ${notOnDevice} more run on the CPU only`}
        {runs > 0 && `; ${runs} runs of the whole program were compared`}.{' '}
        <strong>
          {passed ? 'All results are the same.' : `${differences.length} differ, the first of them here:`}
        </strong>
      </p>
      {differences.slice(0, 1).map(({ operator, python, node, mismatch, maxDifference, at, run }) => (
        <pre key={operator} tabIndex={0}>
          {`${operator}${run === null ? '' : `, in run ${run} of the whole program`}: ${mismatch ?? `${at?.device} instead of ${at?.host} at [${at?.index.join(', ')}], ${maxDifference} apart`}\n\n${node}\n\n${python}`}
        </pre>
      ))}
    </div>
  );
}
