import type { PassStep } from 'cresset';
import { useState } from 'preact/hooks';
import { GraphDiff } from './graph-diff.tsx';
import { shortTime } from '../profile/short-time.ts';

/** What each pass did to a graph, one pass at a time. */
export function PassesView({ steps }: { steps: readonly PassStep[] }) {
  const [chosen, setChosen] = useState(1);
  if (steps.length < 2) return <p class="faint">No pass changes this graph.</p>;
  const at = Math.min(chosen, steps.length - 1);
  const step = steps[at];
  return (
    <>
      <div class="row">
        <label class="field">
          pass
          <select value={at} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {steps.slice(1).map(({ name, milliseconds }, index) => (
              <option key={index} value={index + 1}>
                {index + 1}. {name} ({shortTime(milliseconds)})
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={at === 1} onClick={() => setChosen(at - 1)}>
          Back
        </button>
        <button type="button" disabled={at === steps.length - 1} onClick={() => setChosen(at + 1)}>
          Next
        </button>
      </div>
      <GraphDiff before={steps[at - 1].graph} after={step.graph} label={`What ${step.name} changed`} />
    </>
  );
}
