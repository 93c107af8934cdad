import { tensor, type RunProfile, type ScriptModule, type Tensor } from 'cresset';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { DrawingCanvas } from './drawing-canvas.tsx';
import { ErrorNotice } from '../pieces/error-notice.tsx';
import { ProbabilityBars } from './probability-bars.tsx';
import { RunFigures } from '../running/run-figures.tsx';
import { SeenPicture } from './seen-picture.tsx';
import { digitStrokes, strokeInk, type Stroke } from './strokes.ts';
import { TrainingPane } from './training-pane.tsx';

/** Pixels of a side of the picture that the model gets. */
const side = 28;

interface Finding {
  readonly probabilities: readonly number[];
  /** What the network sees, `side` × `side`. */
  readonly seen: ArrayLike<number>;
  readonly profile: RunProfile | null;
}

/** Whether this is the bundled model, which is given drawings. */
export function takesDrawings(model: ScriptModule): boolean {
  return model.className === '__torch__.digit_classifier.DigitClassifier';
}

async function classify(model: ScriptModule, strokes: readonly Stroke[]): Promise<Finding> {
  const picture = tensor(strokeInk(strokes, side), [1, 1, side, side]);
  const probabilities = (await model.forward(picture)) as Tensor;
  const { lastRun: profile } = model;
  const seen = (await model.call('centred', [picture])) as Tensor;
  return { probabilities: [...(probabilities.data as Float32Array)], seen: seen.data as Float32Array, profile };
}

/** Classifies the newest drawing, one at a time: what is drawn during a run waits, and only the last of it is run. */
function useFinding(model: ScriptModule, strokes: readonly Stroke[]) {
  const [finding, setFinding] = useState<Finding | null>(null);
  const [error, setError] = useState<unknown>(null);
  const newest = useRef(strokes);
  const isRunning = useRef(false);
  newest.current = strokes;

  const run = useCallback(async () => {
    if (isRunning.current) return;
    isRunning.current = true;
    for (let done: readonly Stroke[] | null = null; done !== newest.current;) {
      done = newest.current;
      try {
        const found = done.length === 0 ? null : await classify(model, done);
        setFinding(found);
        setError(null);
      } catch (reason) {
        setError(reason);
      }
    }
    isRunning.current = false;
  }, [model]);
  useEffect(() => {
    // Shaders are compiled at a model's first run; better before the first stroke than during it.
    classify(model, digitStrokes[0]).catch(setError);
  }, [model]);
  useEffect(() => void run(), [run, strokes]);
  return { finding, error };
}

function spokenResult(finding: Finding | null): string {
  if (!finding) return '';
  const { probabilities } = finding;
  const best = Math.max(...probabilities);
  return `Looks like a ${probabilities.indexOf(best)}, ${Math.round(100 * best)} %`;
}

/** Draw a digit and see, as you draw, which one the model takes it for. */
export function DigitsPane({ model }: { model: ScriptModule }) {
  const [strokes, setStrokes] = useState<readonly Stroke[]>([]);
  const { finding, error } = useFinding(model, strokes);
  return (
    <div class="stack">
      <div class="row spread">
        <h2>Draw a digit</h2>
        <button type="button" onClick={() => setStrokes([])} disabled={strokes.length === 0}>
          Clear
        </button>
      </div>
      <div class="draw">
        <DrawingCanvas strokes={strokes} onDraw={setStrokes} />
        <ProbabilityBars probabilities={finding?.probabilities ?? null} />
        <SeenPicture pixels={finding?.seen ?? null} side={side} />
      </div>
      <div class="examples" role="group" aria-label="Examples">
        {digitStrokes.map((example, digit) => (
          <button key={digit} type="button" onClick={() => setStrokes(example)} aria-label={`Draw a ${digit}`}>
            {digit}
          </button>
        ))}
      </div>
      <p class="spoken" role="status">
        {spokenResult(finding)}
      </p>
      {error !== null && <ErrorNotice error={error} />}
      <TrainingPane
        model={model}
        seen={finding?.seen ?? null}
        side={side}
        onTrained={() => setStrokes((drawn) => [...drawn])}
      />
      {finding?.profile && <RunFigures profile={finding.profile} place={model.place} />}
    </div>
  );
}
