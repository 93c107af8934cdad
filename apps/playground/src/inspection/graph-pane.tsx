import type { ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { Highlighted } from '../pieces/highlight.tsx';
import { firstMethod, MethodPicker } from '../pieces/method-picker.tsx';
import { PassesView } from './passes-view.tsx';
import { useAnswer } from '../pieces/use-answer.ts';
import { Waiting } from '../pieces/waiting.tsx';

type View = 'compiled' | 'optimized' | 'passes' | 'named';

function GraphText({ model, method, optimized }: { model: ScriptModule; method: string; optimized: boolean }) {
  const graph = useAnswer(() => model.graph(method, { optimized }), [model, method, optimized]);
  return <Waiting answer={graph}>{(text) => <Highlighted text={text} syntax="graph" label="Graph" />}</Waiting>;
}

function Passes({ model, method }: { model: ScriptModule; method: string }) {
  const steps = useAnswer(() => model.passes(method), [model, method]);
  return <Waiting answer={steps}>{(value) => <PassesView steps={value} />}</Waiting>;
}

/** The graph after passes that the visitor names. */
function NamedPasses({ model, method }: { model: ScriptModule; method: string }) {
  const [names, setNames] = useState('inline peephole');
  const graph = useAnswer(
    () => model.graph(method, { passes: names.split(/[\s,]+/).filter(Boolean) }),
    [model, method, names],
  );
  return (
    <>
      <label class="field">
        passes, as in torch._C._jit_pass_…
        <input value={names} onChange={(event) => setNames(event.currentTarget.value)} />
      </label>
      <Waiting answer={graph}>{(text) => <Highlighted text={text} syntax="graph" label="Graph" />}</Waiting>
    </>
  );
}

/** A method's graph, as compiled or as it runs, or how it came from the one to the other, or after passes of one's choice. */
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
            <option value="named">after passes by name</option>
          </select>
        </label>
      </div>
      {view === 'passes' && <Passes model={model} method={method} />}
      {view === 'named' && <NamedPasses model={model} method={method} />}
      {(view === 'compiled' || view === 'optimized') && (
        <GraphText model={model} method={method} optimized={view === 'optimized'} />
      )}
    </div>
  );
}
