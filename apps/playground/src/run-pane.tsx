import { CressetError, type Output, type RunProfile, type ScriptModule, type VerificationReport } from 'cresset/full';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ArgumentForm } from './argument-form.tsx';
import { chosenValue, firstChoice, type Choice } from './argument-value.ts';
import { ErrorNotice } from './error-notice.tsx';
import { firstMethod, MethodPicker } from './method-picker.tsx';
import { resultText } from './result-text.ts';
import { RunFigures } from './run-figures.tsx';
import { parseParameters, type Parameter } from './schema.ts';
import { useAnswer } from './use-answer.ts';
import { VerificationNotice } from './verification-notice.tsx';
import { Waiting } from './waiting.tsx';

interface Run {
  readonly result: Output | undefined;
  readonly profile: RunProfile | null;
  readonly report: VerificationReport | null;
  readonly error: unknown;
}

const NOTHING: Run = { result: undefined, profile: null, report: null, error: null };

interface FormProperties {
  readonly model: ScriptModule;
  readonly method: string;
  readonly parameters: readonly Parameter[];
}

/** Fields for the arguments of one method, and what came of calling it. */
function MethodForm({ model, method, parameters }: FormProperties) {
  const [choices, setChoices] = useState<readonly Choice[]>(() => parameters.map(firstChoice));
  const [run, setRun] = useState<Run | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  useEffect(() => () => running.current?.abort(), []);

  const kwargs = () =>
    Object.fromEntries(
      parameters.flatMap((parameter, index) => {
        const choice = choices[index];
        if (!choice.isLeftOut) return [[parameter.name, chosenValue(parameter, choice)] as const];
        return parameter.defaultText === undefined ? [[parameter.name, null] as const] : [];
      }),
    );

  const during = async (work: (signal: AbortSignal) => Promise<Partial<Run>>) => {
    const controller = new AbortController();
    running.current = controller;
    setIsRunning(true);
    try {
      setRun({ ...NOTHING, ...(await work(controller.signal)) });
    } catch (error) {
      setRun({ ...NOTHING, error });
    } finally {
      setIsRunning(false);
    }
  };

  const call = (event: Event) => {
    event.preventDefault();
    return during(async (signal) => ({
      result: await model.call(method, [], { kwargs: kwargs(), signal }),
      profile: model.profile,
    }));
  };

  const verify = () =>
    during(async (signal) => ({ report: await model.verify([], { method, kwargs: kwargs(), signal }) }));

  return (
    <form class="stack" onSubmit={call} aria-label={`Arguments of ${method}`}>
      {parameters.length === 0 && <p class="faint">It takes no arguments.</p>}
      {parameters.map((parameter, index) => (
        <ArgumentForm
          key={parameter.name}
          parameter={parameter}
          choice={choices[index]}
          onChange={(choice) => setChoices(choices.with(index, choice))}
        />
      ))}
      <div class="row">
        <button type="submit" class="main" disabled={isRunning}>
          {isRunning ? 'Running…' : 'Run'}
        </button>
        {model.place.device === 'webgpu' && (
          <button type="button" disabled={isRunning} onClick={verify}>
            Compare with the CPU
          </button>
        )}
        {isRunning && (
          <button type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        )}
      </div>
      {run?.error != null && <ErrorNotice error={run.error} />}
      {run?.result !== undefined && (
        <pre class="result" role="status" aria-label="Result" tabIndex={0}>
          {resultText(run.result)}
        </pre>
      )}
      {run?.report && <VerificationNotice report={run.report} />}
      {run?.profile && <RunFigures profile={run.profile} place={model.place} />}
    </form>
  );
}

/** Calls any method of a model with arguments from a form. */
export function RunPane({ model }: { model: ScriptModule }) {
  const [method, setMethod] = useState(firstMethod(model));
  const parameters = useAnswer(async () => {
    if (method === '') throw new CressetError('NO_METHOD', 'this module has no method to run');
    return parseParameters(await model.schema(method));
  }, [model, method]);
  return (
    <div class="stack">
      <MethodPicker model={model} method={method} onChoose={setMethod} />
      <Waiting answer={parameters}>
        {(value) => <MethodForm key={method} model={model} method={method} parameters={value} />}
      </Waiting>
    </div>
  );
}
