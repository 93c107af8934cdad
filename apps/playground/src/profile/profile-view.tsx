import type { CallProfile } from 'cresset';
import { KernelTable } from './kernel-table.tsx';
import { shortCount, shortTime } from './short-time.ts';
import { Timeline } from './timeline.tsx';

function Figures({ label, figures }: { label: string; figures: readonly (readonly [string, string])[] }) {
  return (
    <dl class="figures" aria-label={label}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function save(profile: CallProfile): void {
  const address = URL.createObjectURL(new Blob([JSON.stringify(profile.trace)], { type: 'application/json' }));
  Object.assign(document.createElement('a'), { href: address, download: `${profile.method}.trace.json` }).click();
  URL.revokeObjectURL(address);
}

/**
 * Where the time of a call goes, and of what came before it.
 *
 * @param on what kernels run on
 */
export function ProfileView({ profile, on }: { profile: CallProfile; on: string }) {
  const { call, load, peak, kernels, trace } = profile;
  const phases = [
    ['whole call', call.total],
    ['guards', call.guards],
    ['interpreting', call.enqueue],
    ['encoding', call.encode],
    ['submitting', call.submit],
    ['waiting for results', call.readback],
    ['fallbacks to the host', call.fallback],
  ] as const;
  const loading = [
    ['download', load.download],
    ['reading', load.read],
    ['compiling', load.compile],
    ['passes', load.passes],
    ['kernels', load.pipelines],
    ['uploads', load.upload],
  ] as const;
  const inTime = (parts: readonly (readonly [string, number])[]) =>
    parts.map(([name, milliseconds]) => [name, shortTime(milliseconds)] as const);
  return (
    <section class="stack" aria-label="Profile">
      <h3>A warm call</h3>
      <Figures label="A warm call" figures={inTime(phases)} />
      <Timeline trace={trace} />
      <KernelTable kernels={kernels} on={on} />
      {peak && (
        <p class="faint">
          The peak was measured here: {shortCount(peak.bytesPerSecond, 'B/s')} and{' '}
          {shortCount(peak.operationsPerSecond, 'FLOP/s')}.
        </p>
      )}
      <h3>Before the first answer</h3>
      <Figures label="Before the first answer" figures={inTime(loading)} />
      <div class="row">
        <button type="button" onClick={() => save(profile)}>
          Save as a Chrome trace
        </button>
      </div>
    </section>
  );
}
