import { Tensor, type NestedArray, type Output } from 'cresset';

/** Elements of a dimension that are written out; of a longer one the first and last few. */
const longestWritten = 8;
const endsWritten = 3;

function numberText(value: number | bigint | boolean): string {
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}

function nestedText(value: NestedArray, indent: string): string {
  if (!Array.isArray(value)) return numberText(value as number | bigint | boolean);
  const items = value as readonly NestedArray[];
  const isInnermost = !Array.isArray(items[0]);
  const written = (item: NestedArray) => nestedText(item, `${indent} `);
  const texts =
    items.length <= longestWritten
      ? items.map(written)
      : [...items.slice(0, endsWritten).map(written), '…', ...items.slice(-endsWritten).map(written)];
  return `[${texts.join(isInnermost ? ', ' : `,\n${indent} `)}]`;
}

function outputText(value: Output, indent: string): string {
  if (value instanceof Tensor) {
    return `tensor(${nestedText(value.tolist(), `${indent}       `)}, dtype=${value.dtype}, shape=[${value.shape.join(', ')}])`;
  }
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') return String(value);
  const inner = `${indent}  `;
  const lines = (parts: string[], open: string, close: string) =>
    parts.length === 0 ? open + close : `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
  if (Array.isArray(value))
    return lines(
      value.map((item: Output) => outputText(item, inner)),
      '[',
      ']',
    );
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return lines(
    entries.map(([key, item]: [Output, Output]) => `${outputText(key, inner)}: ${outputText(item, inner)}`),
    '{',
    '}',
  );
}

/** What a model gave, as text in the manner of Python. */
export function resultText(value: Output): string {
  return outputText(value, '');
}
