import type { ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { shortName } from './class-name.ts';
import { Highlighted } from '../pieces/highlight.tsx';
import { useAnswer } from '../pieces/use-answer.ts';
import { Waiting } from '../pieces/waiting.tsx';

/** The code of each module's class, as the file has it. */
export function CodePane({ model }: { model: ScriptModule }) {
  const [path, setPath] = useState('');
  const code = useAnswer(() => (path === '' ? model : model.submodule(path)).code(), [model, path]);
  return (
    <div class="stack">
      <label class="field">
        module
        <select value={path} onChange={(event) => setPath(event.currentTarget.value)}>
          {model.namedModules().map(({ name, className }) => (
            <option key={name} value={name}>
              {name === '' ? shortName(className) : `${name}: ${shortName(className)}`}
            </option>
          ))}
        </select>
      </label>
      <Waiting answer={code}>{(text) => <Highlighted text={text} syntax="python" label="TorchScript code" />}</Waiting>
    </div>
  );
}
