import { optim, tensor, type ScriptModule, type Tensor } from 'cresset';
import { useRef, useState } from 'preact/hooks';
import { ErrorNotice } from '../pieces/error-notice.tsx';
import { LossCurve } from './loss-curve.tsx';
import { digitStrokes, strokeInk } from './strokes.ts';

/** Steps of one training. */
const STEPS = 24;

/** A drawing as the network sees it, and the digit that it is to be taken for. */
interface Lesson {
  readonly seen: ArrayLike<number>;
  readonly digit: number;
}

interface Properties {
  readonly model: ScriptModule;
  /** What the network sees of the drawing, `side` × `side`; null without one. */
  readonly seen: ArrayLike<number> | null;
  readonly side: number;
  /** Called when the model has changed. */
  readonly onTrained: () => void;
}

/** The ten examples, so that what is learnt does not push out what was known. */
async function exampleLessons(model: ScriptModule, side: number): Promise<Lesson[]> {
  const lessons: Lesson[] = [];
  for (const [digit, strokes] of digitStrokes.entries()) {
    const seen = (await model.call('centred', [tensor(strokeInk(strokes, side), [1, 1, side, side])])) as Tensor;
    lessons.push({ seen: seen.data as Float32Array, digit });
  }
  return lessons;
}

/** Tell the model what was drawn, and have it learn that in the page. */
export function TrainingPane({ model, seen, side, onTrained }: Properties) {
  const [lessons, setLessons] = useState<readonly Lesson[]>([]);
  const [losses, setLosses] = useState<readonly number[]>([]);
  const [error, setError] = useState<unknown>(null);
  const training = useRef<AbortController | null>(null);
  const [isTraining, setIsTraining] = useState(false);

  const train = async () => {
    const controller = new AbortController();
    training.current = controller;
    setIsTraining(true);
    setError(null);
    setLosses([]);
    try {
      const all = [...lessons, ...(await exampleLessons(model, side))];
      const pictures = Float32Array.from(all.flatMap((lesson) => Array.from(lesson.seen)));
      const digits = tensor(
        all.map(({ digit }) => digit),
        { dtype: 'int64' },
      );
      const inputs = tensor(pictures, [all.length, 1, side, side]);
      await using trainer = await model.trainer({
        method: 'logits',
        loss: 'cross_entropy',
        optimizer: optim.AdamW({ lr: 2e-3 }),
      });
      for (let step = 0; step < STEPS; step++) {
        const { loss } = await trainer.step(inputs, digits, { signal: controller.signal });
        setLosses((before) => [...before, loss]);
      }
    } catch (reason) {
      if (!controller.signal.aborted) setError(reason);
    } finally {
      setIsTraining(false);
      onTrained();
    }
  };

  return (
    <section class="stack" aria-label="Training">
      <h3>Not what you drew? Teach it</h3>
      <div class="examples" role="group" aria-label="What it is">
        {digitStrokes.map((_, digit) => (
          <button
            key={digit}
            type="button"
            disabled={seen === null || isTraining}
            aria-label={`This is a ${digit}`}
            onClick={() => setLessons([...lessons, { seen: seen!, digit }])}
          >
            {digit}
          </button>
        ))}
      </div>
      <div class="row spread">
        <p role="status">
          {lessons.length === 0
            ? 'Draw, and say which digit it is.'
            : `To be learnt: ${lessons.map(({ digit }) => digit).join(', ')}`}
        </p>
        {isTraining ? (
          <button type="button" onClick={() => training.current?.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" disabled={lessons.length === 0} onClick={() => void train()}>
            Train
          </button>
        )}
      </div>
      {losses.length > 0 && <LossCurve losses={losses} steps={STEPS} />}
      {error !== null && <ErrorNotice error={error} />}
    </section>
  );
}
