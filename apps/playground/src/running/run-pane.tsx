import {
  CressetError,
  type CallProfile,
  type Input,
  type Output,
  type RunProfile,
  type ScriptModule,
  type VerificationReport,
} from 'cresset';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ArgumentForm } from '../inputs/argument-form.tsx';
import type { Choice } from '../inputs/argument-value.ts';
import { kernelPlace } from '../pieces/device-name.ts';
import { ErrorNotice } from '../pieces/error-notice.tsx';
import { argumentsOf, candidateChoices, withFitting } from '../inputs/input-guess.ts';
import { firstMethod, MethodPicker } from '../pieces/method-picker.tsx';
import { ProfileView } from '../profile/profile-view.tsx';
import { resultText } from './result-text.ts';
import { RunFigures } from './run-figures.tsx';
import { parseParameters, type Parameter } from '../inputs/schema.ts';
import { useAnswer } from '../pieces/use-answer.ts';
import { VerificationNotice } from './verification-notice.tsx';
import { Waiting } from '../pieces/waiting.tsx';

interface Run {
  readonly result: Output | undefined;
  readonly profile: RunProfile | null;
  readonly report: VerificationReport | null;
  readonly measured: CallProfile | null;
  readonly error: unknown;
}

interface Reading {
  readonly loaded: number;
  readonly total: number | null;
}

const NOTHING: Run = { result: undefined, profile: null, report: null, measured: null, error: null };

interface FormProperties {
  readonly model: ScriptModule;
  readonly method: string;
  readonly parameters: readonly Parameter[];
  /** What the form may start with, the likeliest first. */
  readonly candidates: readonly (readonly Choice[])[];
  /** Whether one after the other may be tried. */
  readonly canTry: boolean;
}

/** Fields for the arguments of one method, and what came of calling it. */
function MethodForm({ model, method, parameters, candidates, canTry }: FormProperties) {
  const [choices, setChoices] = useState<readonly Choice[]>(candidates[0]);
  const [run, setRun] = useState<Run | null>(null);
  const [isUntouched, setIsUntouched] = useState(true);
  const [note, setNote] = useState('');
  const running = useRef<AbortController | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  const [reading, setReading] = useState<Reading | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const during = async (work: (signal: AbortSignal) => Promise<Partial<Run>>) => {
    const controller = new AbortController();
    running.current = controller;
    setIsRunning(true);
    setRun(null);
    setNote('');
    try {
      setRun({ ...NOTHING, ...(await work(controller.signal)) });
    } catch (error) {
      setRun({ ...NOTHING, error });
    } finally {
      setIsRunning(false);
      setReading(null);
    }
  };

  /** What nobody chose is found by trying. */
  const attempt = async <Result,>(signal: AbortSignal, work: (kwargs: Record<string, Input>) => Promise<Result>) => {
    const tried = isUntouched && canTry ? candidates : [choices];
    try {
      const fitting = await withFitting(tried, signal, (each) => work(argumentsOf(parameters, each)));
      if (fitting.choices !== tried[0]) setNote('The program leaves sizes of its inputs open. These fit it.');
      setChoices(fitting.choices);
      setIsUntouched(false);
      return fitting.result;
    } catch (error) {
      if (isUntouched) setNote('The program does not tell all about its inputs: choose what fits it.');
      throw error;
    }
  };

  const call = (event: Event) => {
    event.preventDefault();
    return during(async (signal) => ({
      result: await attempt(signal, (kwargs) => model.call(method, [], { kwargs, signal, onProgress: setReading })),
      profile: model.lastRun,
    }));
  };

  const verify = () =>
    during(async (signal) => ({
      report: await attempt(signal, (kwargs) => model.verify([], { method, kwargs, signal })),
    }));

  const measure = () =>
    during(async (signal) => ({
      measured: await attempt(signal, (kwargs) => model.profile([], { method, kwargs, signal })),
    }));

  return (
    <form class="stack" onSubmit={call} aria-label={`Arguments of ${method}`}>
      {parameters.length === 0 && <p class="faint">It takes no arguments.</p>}
      {parameters.map((parameter, index) => (
        <ArgumentForm
          key={parameter.name}
          parameter={parameter}
          choice={choices[index]}
          onChange={(choice) => {
            setIsUntouched(false);
            setNote('');
            setChoices(choices.with(index, choice));
            // An error was that of other arguments.
            setRun((last) => (last?.error == null ? last : null));
          }}
        />
      ))}
      {note && <p class="faint">{note}</p>}
      <div class="row">
        <button type="submit" class="main" disabled={isRunning}>
          {isRunning ? 'Running…' : 'Run'}
        </button>
        {model.place.device === 'webgpu' && (
          <button type="button" disabled={isRunning} onClick={verify}>
            Compare with the CPU
          </button>
        )}
        <button type="button" disabled={isRunning} onClick={measure}>
          Profile
        </button>
        {isRunning && (
          <button type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        )}
      </div>
      {reading && (
        <progress
          aria-label="Reading the weights"
          value={reading.loaded}
          {...(reading.total && { max: reading.total })}
        />
      )}
      {run?.error != null && <ErrorNotice error={run.error} />}
      {run?.result !== undefined && (
        <pre class="result" role="status" aria-label="Result" tabIndex={0}>
          {resultText(run.result)}
        </pre>
      )}
      {run?.report && <VerificationNotice report={run.report} />}
      {run?.measured && <ProfileView profile={run.measured} on={kernelPlace(model.place)} />}
      {run?.profile && <RunFigures profile={run.profile} place={model.place} />}
    </form>
  );
}

/** Calls any method of a model with arguments from a form. */
export function RunPane({ model }: { model: ScriptModule }) {
  const [method, setMethod] = useState(firstMethod(model));
  const form = useAnswer(async () => {
    if (method === '') throw new CressetError('NO_METHOD', 'this module has no method to run');
    const parameters = parseParameters(await model.schema(method));
    const expected = await model.expectedInputs(method);
    return {
      parameters,
      candidates: candidateChoices(parameters, expected),
      // A run that fails midway leaves a program with state somewhere between.
      canTry: expected.isPure,
    };
  }, [model, method]);
  return (
    <div class="stack">
      <MethodPicker model={model} method={method} onChoose={setMethod} />
      <Waiting answer={form}>{(value) => <MethodForm key={method} model={model} method={method} {...value} />}</Waiting>
    </div>
  );
}
