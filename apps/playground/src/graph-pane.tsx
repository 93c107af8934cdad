import type { ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { Highlighted } from './highlight.tsx';
import { firstMethod, MethodPicker } from './method-picker.tsx';
import { useAnswer } from './use-answer.ts';
import { Waiting } from './waiting.tsx';

/** A method's graph, as compiled or as it runs. */
export function GraphPane({ model }: { model: ScriptModule }) {
  const [method, setMethod] = useState(firstMethod(model));
  const [optimized, setOptimized] = useState(false);
  const graph = useAnswer(() => model.graph(method, { optimized }), [model, method, optimized]);
  return (
    <div class="stack">
      <div class="row">
        <MethodPicker model={model} method={method} onChoose={setMethod} />
        <label class="field">
          show it
          <select value={String(optimized)} onChange={(event) => setOptimized(event.currentTarget.value === 'true')}>
            <option value="false">as compiled</option>
            <option value="true">as it runs, after all passes</option>
          </select>
        </label>
      </div>
      <Waiting answer={graph}>{(text) => <Highlighted text={text} syntax="graph" label="Graph" />}</Waiting>
    </div>
  );
}
