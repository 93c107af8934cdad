import type { VerificationReport } from 'cresset';

/** What came of doing every operator on both devices. */
export function VerificationNotice({ report }: { report: VerificationReport }) {
  const { passed, compared, notOnDevice, differences } = report;
  return (
    <div role="status" aria-label="Comparison" class="stack">
      <p>
        {compared} operators or fused groups did the same work on the GPU and on the CPU
        {notOnDevice > 0 && `; ${notOnDevice} more run on the CPU only`}.{' '}
        <strong>
          {passed ? 'All results are the same.' : `${differences.length} differ, the first of them here:`}
        </strong>
      </p>
      {differences.slice(0, 1).map(({ operator, python, node, mismatch, maxDifference, at }) => (
        <pre key={operator} tabIndex={0}>
          {`${operator}: ${mismatch ?? `${at?.device} instead of ${at?.host} at [${at?.index.join(', ')}], ${maxDifference} apart`}\n\n${node}\n\n${python}`}
        </pre>
      ))}
    </div>
  );
}
