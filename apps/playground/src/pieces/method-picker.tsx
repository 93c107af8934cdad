import type { ScriptModule } from 'cresset';

interface Properties {
  readonly model: ScriptModule;
  readonly method: string;
  readonly onChoose: (method: string) => void;
}

/** One of the methods that the model's own class has. */
export function MethodPicker({ model, method, onChoose }: Properties) {
  return (
    <label class="field">
      method
      <select value={method} onChange={(event) => onChoose(event.currentTarget.value)}>
        {model.methods().map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** The method to start with: `forward` where there is one. */
export function firstMethod(model: ScriptModule): string {
  const methods = model.methods();
  return methods.includes('forward') ? 'forward' : (methods[0] ?? '');
}
