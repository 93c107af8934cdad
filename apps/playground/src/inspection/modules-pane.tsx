import type { ScriptModule, TensorSummary } from 'cresset';
import { shortName } from './class-name.ts';

function TensorTable({ tensors }: { tensors: readonly TensorSummary[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col">dtype</th>
            <th scope="col">shape</th>
            <th scope="col">kind</th>
          </tr>
        </thead>
        <tbody>
          {tensors.map(({ name, dtype, shape, kind }) => (
            <tr key={name}>
              <td>
                <code>{name.slice(name.lastIndexOf('.') + 1)}</code>
              </td>
              <td>{dtype}</td>
              <td>[{shape.join(', ')}]</td>
              <td>{kind}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isChildOf = (path: string, parent: string) =>
  path !== '' && path.slice(0, Math.max(0, path.lastIndexOf('.'))) === parent;

function ModuleBranch({ model, path }: { model: ScriptModule; path: string }) {
  const modules = model.namedModules();
  const tensors = [...model.namedParameters(), ...model.namedBuffers()];
  const own = tensors.filter(({ name }) => name.slice(0, Math.max(0, name.lastIndexOf('.'))) === path);
  const children = modules.filter(({ name }) => isChildOf(name, path));
  const className = shortName(modules.find(({ name }) => name === path)?.className ?? '');
  const label = path === '' ? className : `${path.slice(path.lastIndexOf('.') + 1)}: ${className}`;
  if (own.length === 0 && children.length === 0) return <span>{label}</span>;
  return (
    <details open={path === ''}>
      <summary>{label}</summary>
      {own.length > 0 && <TensorTable tensors={own} />}
      {children.length > 0 && (
        <ul>
          {children.map(({ name }) => (
            <li key={name}>
              <ModuleBranch model={model} path={name} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** The modules, each with its own parameters and buffers. */
export function ModulesPane({ model }: { model: ScriptModule }) {
  const parameters = model.namedParameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  return (
    <div class="stack">
      <p class="faint">
        {model.namedModules().length} modules, {parameters.length} parameters with {count.toLocaleString('en')} elements
      </p>
      <div class="tree">
        <ModuleBranch model={model} path="" />
      </div>
    </div>
  );
}
