import type { ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { Highlighted } from './highlight.tsx';
import { firstMethod, MethodPicker } from './method-picker.tsx';
import { PassesView } from './passes-view.tsx';
import { useAnswer } from './use-answer.ts';
import { Waiting } from './waiting.tsx';

type View = 'compiled' | 'optimized' | 'passes';

function GraphText({ model, method, optimized }: { model: ScriptModule; method: string; optimized: boolean }) {
  const graph = useAnswer(() => model.graph(method, { optimized }), [model, method, optimized]);
  return <Waiting answer={graph}>{(text) => <Highlighted text={text} syntax="graph" label="Graph" />}</Waiting>;
}

function Passes({ model, method }: { model: ScriptModule; method: string }) {
  const steps = useAnswer(() => model.passes(method), [model, method]);
  return <Waiting answer={steps}>{(value) => <PassesView steps={value} />}</Waiting>;
}

/** A method's graph, as compiled or as it runs, or how it came from the one to the other. */
export function GraphPane({ model }: { model: ScriptModule }) {
  const [method, setMethod] = useState(firstMethod(model));
  const [view, setView] = useState<View>('compiled');
  return (
    <div class="stack">
      <div class="row">
        <MethodPicker model={model} method={method} onChoose={setMethod} />
        <label class="field">
          show it
          <select value={view} onChange={(event) => setView(event.currentTarget.value as View)}>
            <option value="compiled">as compiled</option>
            <option value="optimized">as it runs, after all passes</option>
            <option value="passes">pass by pass</option>
          </select>
        </label>
      </div>
      {view === 'passes' ? (
        <Passes model={model} method={method} />
      ) : (
        <GraphText model={model} method={method} optimized={view === 'optimized'} />
      )}
    </div>
  );
}
