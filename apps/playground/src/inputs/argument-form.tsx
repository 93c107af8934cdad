import { dtypes, fills, isTensorType, numberTypeOf, type Choice, type Fill } from './argument-value.ts';
import type { DType } from 'cresset';
import type { Parameter } from './schema.ts';

interface Properties {
  readonly parameter: Parameter;
  readonly choice: Choice;
  readonly onChange: (choice: Choice) => void;
}

function TensorFields({ choice, onChange }: Omit<Properties, 'parameter'>) {
  return (
    <>
      <div class="row">
        <label class="field">
          dtype
          <select
            value={choice.dtype}
            onChange={(event) => onChange({ ...choice, dtype: event.currentTarget.value as DType })}
          >
            {dtypes.map((dtype) => (
              <option key={dtype}>{dtype}</option>
            ))}
          </select>
        </label>
        <label class="field">
          filled with
          <select
            value={choice.fill}
            onChange={(event) => onChange({ ...choice, fill: event.currentTarget.value as Fill })}
          >
            {fills.map((fill) => (
              <option key={fill}>{fill}</option>
            ))}
          </select>
        </label>
        {choice.fill !== 'JSON' && (
          <label class="field">
            shape
            <input
              value={choice.shape}
              size={14}
              spellcheck={false}
              onInput={(event) => onChange({ ...choice, shape: event.currentTarget.value })}
            />
          </label>
        )}
      </div>
      {choice.fill === 'JSON' && <JsonField choice={choice} onChange={onChange} />}
    </>
  );
}

function JsonField({ choice, onChange }: Omit<Properties, 'parameter'>) {
  return (
    <label class="field">
      JSON
      <textarea
        value={choice.text}
        spellcheck={false}
        onInput={(event) => onChange({ ...choice, text: event.currentTarget.value })}
      />
    </label>
  );
}

function NumberField({ parameter, choice, onChange }: Properties) {
  const { name, type } = parameter;
  return (
    <input
      type="number"
      aria-label={name}
      required
      step={numberTypeOf(type) === 'int' ? 1 : 'any'}
      value={choice.text}
      onInput={(event) => onChange({ ...choice, text: event.currentTarget.value })}
    />
  );
}

/** Fields for one argument of a method. */
export function ArgumentForm({ parameter, choice, onChange }: Properties) {
  const { name, typeText, type, defaultText } = parameter;
  const canBeLeftOut = defaultText !== undefined || type.kind === 'optional';
  const Fields = isTensorType(type) ? TensorFields : numberTypeOf(type) ? NumberField : JsonField;
  return (
    <fieldset class="stack">
      <legend>
        <code>
          {name}: {typeText}
        </code>
      </legend>
      {canBeLeftOut && (
        <label class="row">
          <input
            type="checkbox"
            checked={choice.isLeftOut}
            onChange={(event) => onChange({ ...choice, isLeftOut: event.currentTarget.checked })}
          />
          {defaultText === undefined ? 'None' : `default, ${defaultText}`}
        </label>
      )}
      {!isTensorType(type) && typeText.includes('Tensor') && (
        <p class="faint">
          Tensors are nested arrays, int64 where all numbers are whole, or <code>{'{"dtype": …, "data": …}'}</code>
        </p>
      )}
      {!(canBeLeftOut && choice.isLeftOut) && <Fields parameter={parameter} choice={choice} onChange={onChange} />}
    </fieldset>
  );
}
