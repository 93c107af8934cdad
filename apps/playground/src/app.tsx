import { init, type Availability, type ScriptModule } from 'cresset';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { CodePane } from './inspection/code-pane.tsx';
import { DigitsPane, takesDrawings } from './digits/digits-pane.tsx';
import { ErrorNotice } from './pieces/error-notice.tsx';
import { ExplainPane } from './inspection/explain-pane.tsx';
import { GraphPane } from './inspection/graph-pane.tsx';
import { ModelPicker } from './model/model-picker.tsx';
import { bundledModel, type ModelSource } from './model/model-source.ts';
import { ModulesPane } from './inspection/modules-pane.tsx';
import { deviceName } from './pieces/device-name.ts';
import { RunPane } from './running/run-pane.tsx';
import { SaveButton } from './model/save-button.tsx';
import { Tabs, type Tab } from './tabs.tsx';
import { useFileDrop } from './model/use-file-drop.ts';
import { useModel, type DeviceChoice, type LoadState } from './model/use-model.ts';

function Header({ device, onDevice }: { device: DeviceChoice; onDevice: (device: DeviceChoice) => void }) {
  return (
    <header class="spread">
      <div class="brand">
        <img src="./flame.svg" alt="" />
        <div>
          <h1>Cresset</h1>
          <p>TorchScript in the page, on WebGPU</p>
        </div>
      </div>
      <label class="field">
        device
        <select value={device} onChange={(event) => onDevice(event.currentTarget.value as DeviceChoice)}>
          <option value="auto">auto</option>
          <option value="webgpu">WebGPU</option>
          <option value="cpu">CPU</option>
        </select>
      </label>
    </header>
  );
}

/** Where the model is: on its way, ready and on which device, or not to be had. */
function LoadStatus({ state }: { state: LoadState }) {
  if (state.phase === 'failed') return <p role="status">{state.name} could not be loaded.</p>;
  if (state.phase === 'ready') {
    const { place, loadTimings } = state.model;
    return (
      <div class="row loaded">
        <p role="status" class="faint">
          <strong>{state.name}</strong> is ready on {deviceName(place)}
          {loadTimings.total > 0 && `, after ${loadTimings.total.toFixed(0)} ms`}: {place.reason}
        </p>
        <SaveButton key={state.visit} model={state.model} name={state.name} />
      </div>
    );
  }
  const { name, loaded, total } = state;
  return (
    <div class="stack">
      <p role="status" class="faint">
        Loading {name}…
      </p>
      <progress aria-label={`Loading ${name}`} {...(total === null ? {} : { value: loaded, max: total })} />
    </div>
  );
}

function MissingGpu({ availability }: { availability: Availability | null }) {
  if (!availability || availability.available) return null;
  return (
    <p role="note">
      No GPU to compute on: {availability.message.replace(/\.?$/, '.')} {availability.help}
    </p>
  );
}

function Workbench({ model }: { model: ScriptModule }) {
  const inspectTabs: Tab[] = [
    { name: 'Modules', content: () => <ModulesPane model={model} /> },
    { name: 'Code', content: () => <CodePane model={model} /> },
    { name: 'Graph', content: () => <GraphPane model={model} /> },
    { name: 'Explain', content: () => <ExplainPane model={model} /> },
  ];
  const runTabs: Tab[] = [
    { name: 'Draw', content: () => <DigitsPane model={model} /> },
    { name: 'Call', content: () => <RunPane model={model} /> },
  ];
  return (
    <>
      <section class="card" aria-label="Run">
        {takesDrawings(model) ? <Tabs label="Ways to run it" tabs={runTabs} /> : <RunPane model={model} />}
      </section>
      <section class="card" aria-label="Look inside">
        <Tabs label="Look inside" tabs={inspectTabs} />
      </section>
    </>
  );
}

/** The whole page. */
export function App() {
  const [source, setSource] = useState<ModelSource>(bundledModel);
  const [device, setDevice] = useState<DeviceChoice>('auto');
  const [availability, setAvailability] = useState<Availability | null>(null);
  const state = useModel(source, device);
  useEffect(() => void init().then(setAvailability), []);
  // A new object each time, so that picking the same model again loads it again.
  const pick = useCallback((picked: ModelSource) => setSource({ ...picked }), []);
  const isOver = useFileDrop(useCallback((file: File) => pick({ name: file.name, input: file }), [pick]));
  return (
    <div class="page">
      <Header device={device} onDevice={setDevice} />
      <section class="card stack" aria-label="Model">
        <ModelPicker onPick={pick} />
        <MissingGpu availability={availability} />
        <LoadStatus state={state} />
        {state.phase === 'failed' && <ErrorNotice error={state.error} />}
      </section>
      {state.phase === 'ready' && (
        <main>
          <Workbench key={state.visit} model={state.model} />
        </main>
      )}
      {isOver && (
        <div class="drop-veil" aria-hidden="true">
          Drop the .pt file anywhere
        </div>
      )}
    </div>
  );
}
