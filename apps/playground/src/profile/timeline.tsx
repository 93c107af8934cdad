import type { CallProfile, TraceEvent } from 'cresset';
import { shortTime } from './short-time.ts';

/** A narrower bar has no room for its name. */
const NAMED_SHARE = 0.12;

interface Bar extends TraceEvent {
  readonly ts: number;
  readonly dur: number;
}

const isBar = (event: TraceEvent): event is Bar => event.ph === 'X';

/** What came before the first call is on a scale of its own, and told in numbers. */
const LOADING = 0;

/** The rows of a trace with what was done when, on one scale. */
export function Timeline({ trace }: { trace: CallProfile['trace'] }) {
  const events = trace.traceEvents.filter(({ tid }) => tid !== LOADING);
  const bars = events.filter(isBar);
  const end = Math.max(...bars.map(({ ts, dur }) => ts + dur), 1);
  const rows = events.filter(({ ph }) => ph === 'M');
  return (
    <figure class="timeline" aria-label="Timeline">
      {rows.map(({ tid, args }) => {
        const own = bars.filter((bar) => bar.tid === tid);
        if (own.length === 0) return null;
        return (
          <div key={tid}>
            <p class="faint">{String(args?.['name'])}</p>
            <div class="timeline-row">
              {own.map(({ name, ts, dur, cat }, at) => (
                <span
                  key={at}
                  class={`timeline-bar timeline-${cat}`}
                  title={`${name}: ${shortTime(dur / 1000)}, from ${shortTime(ts / 1000)} on`}
                  style={{ left: `${(100 * ts) / end}%`, width: `${(100 * dur) / end}%` }}
                >
                  {dur / end > NAMED_SHARE && name}
                </span>
              ))}
            </div>
          </div>
        );
      })}
      <figcaption class="timeline-scale faint">
        <span>0</span>
        <span>{shortTime(end / 2000)}</span>
        <span>{shortTime(end / 1000)}</span>
      </figcaption>
    </figure>
  );
}
