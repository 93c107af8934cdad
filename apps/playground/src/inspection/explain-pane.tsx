import type { Explanation, OperatorUse, ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { kernelPlace } from '../pieces/device-name.ts';
import { firstMethod, MethodPicker } from '../pieces/method-picker.tsx';
import { useAnswer } from '../pieces/use-answer.ts';
import { Waiting } from '../pieces/waiting.tsx';

const places: Record<Exclude<OperatorUse['placement'], 'device'>, string> = {
  anywhere: 'no work',
  host: 'host',
  missing: 'missing',
};

/** What deserves a look first: what is missing, then what is slow, then what works. */
const placeOrder = ['missing', 'host', 'device', 'anywhere'];

/** The operators of each kind of group, with how many groups are of that kind. */
function countAlike(groups: Explanation['fusionGroups']): [operators: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { operators } of groups) {
    const names = operators.join(', ');
    counts.set(names, (counts.get(names) ?? 0) + 1);
  }
  return [...counts];
}

interface OperatorTableProperties {
  readonly caption: string;
  readonly operators: readonly OperatorUse[];
  /** What kernels run on. */
  readonly on: string;
}

function OperatorTable({ caption, operators, on }: OperatorTableProperties) {
  const sorted = operators.toSorted(
    (a, b) => placeOrder.indexOf(a.placement) - placeOrder.indexOf(b.placement) || b.count - a.count,
  );
  return (
    <div class="scroll">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">operator</th>
            <th scope="col" class="number">
              uses
            </th>
            <th scope="col">runs on</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map(({ name, count, placement }) => (
            <tr key={`${name} ${placement}`}>
              <td>
                <code>{name}</code>
              </td>
              <td class="number">{count}</td>
              <td>{placement === 'device' ? on : places[placement]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function GroupTable({ groups }: { groups: Explanation['fusionGroups'] }) {
  if (groups.length === 0) return <p class="faint">No operators are fused in this method.</p>;
  return (
    <div class="scroll">
      <table>
        <caption>Fused groups: one kernel each</caption>
        <tbody>
          {countAlike(groups).map(([operators, count]) => (
            <tr key={operators}>
              <td class="number">{count} ×</td>
              <td>
                <code>{operators}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function StretchTable({ stretches }: { stretches: Explanation['stretches'] }) {
  if (stretches.length === 0) return null;
  return (
    <div class="scroll">
      <table>
        <caption>Stretches that were recorded, and are replayed when they come again</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              launches
            </th>
            <th scope="col" class="number">
              kinds of inputs
            </th>
            <th scope="col">on the host</th>
            <th scope="col">ends before</th>
            <th scope="col">because of</th>
          </tr>
        </thead>
        <tbody>
          {stretches.map(({ launches, recordings, onHost, endsAt, reason }, at) => (
            <tr key={at}>
              <td class="number">{launches}</td>
              <td class="number">{recordings}</td>
              <td>{onHost.map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(', ')}</td>
              <td>
                <code>{endsAt}</code>
              </td>
              <td>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ProgramTexts({ stretches }: { stretches: Explanation['stretches'] }) {
  const programs = stretches.flatMap(({ program }) => program || []);
  if (programs.length === 0) return null;
  return (
    <details>
      <summary>What a replay does, step by step</summary>
      {programs.map((program, at) => (
        <pre key={at} class="source" tabIndex={0} role="region" aria-label={`Steps of stretch ${at + 1}`}>
          {program}
        </pre>
      ))}
    </details>
  );
}

function KernelTable({ kernels }: { kernels: Explanation['stretches'][number]['kernels'] }) {
  if (kernels.length === 0) return null;
  return (
    <details>
      <summary>
        How {kernels.length === 1 ? 'their kernel is' : `their ${kernels.length} kernels are`} scheduled
      </summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">kernel</th>
              <th scope="col">schedule</th>
              <th scope="col">because of</th>
            </tr>
          </thead>
          <tbody>
            {kernels.map(({ label, schedule, reason }, at) => (
              <tr key={at}>
                <td>
                  <code>{label}</code>
                </td>
                <td>{schedule}</td>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function PartTable({ parts }: { parts: Explanation['parts'] }) {
  if (parts.length === 0) return <p class="faint">The model needs nothing of the library beside the engine.</p>;
  return (
    <div class="scroll">
      <table>
        <caption>Parts of the library that were fetched for it</caption>
        <tbody>
          {parts.map(({ name, reason }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <code>{reason}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ExplanationTables({ explanation, on }: { explanation: Explanation; on: string }) {
  const { operators, fusionGroups, parts, stretches } = explanation;
  const missing = operators.filter(({ placement }) => placement === 'missing');
  const working = operators.filter(({ placement }) => placement !== 'anywhere');
  const idle = operators.filter(({ placement }) => placement === 'anywhere');
  return (
    <>
      {missing.length > 0 && (
        <p role="note">
          {missing.length === 1 ? 'One operator is' : `${missing.length} operators are`} missing: a run that comes there
          fails.
        </p>
      )}
      <GroupTable groups={fusionGroups} />
      <OperatorTable caption="Operators that do work" operators={working} on={on} />
      {idle.length > 0 && (
        <details>
          <summary>{idle.length} operators on views, sizes and plain numbers</summary>
          <OperatorTable caption="Operators that touch no elements" operators={idle} on={on} />
        </details>
      )}
      <StretchTable stretches={stretches} />
      <ProgramTexts stretches={stretches} />
      <KernelTable kernels={stretches.flatMap(({ kernels }) => kernels)} />
      <PartTable parts={parts} />
    </>
  );
}

/** What a method was compiled to, and where it runs. */
export function ExplainPane({ model }: { model: ScriptModule }) {
  const [method, setMethod] = useState(firstMethod(model));
  const explanation = useAnswer(() => model.explain(method), [model, method]);
  return (
    <div class="stack">
      <MethodPicker model={model} method={method} onChoose={setMethod} />
      <Waiting answer={explanation}>
        {(value) => <ExplanationTables explanation={value} on={kernelPlace(model.place)} />}
      </Waiting>
    </div>
  );
}
