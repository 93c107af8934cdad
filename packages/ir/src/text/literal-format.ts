/**
 * A float as C++ streams print it with a given number of significant digits (`%g`), used wherever PyTorch prints floats in
 * graphs and schemas.
 */
export function formatSignificant(value: number, digits: number): string {
  if (Number.isNaN(value)) {
    return 'nan';
  }
  if (!Number.isFinite(value)) {
    return value > 0 ? 'inf' : '-inf';
  }
  if (value === 0) {
    return Object.is(value, -0) ? '-0' : '0';
  }
  const [mantissa, exponentText] = value.toExponential(digits - 1).split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? '-' : '+';
    return `${trimZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  return trimZeros(value.toFixed(digits - 1 - exponent));
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/**
 * A float as graphs and saved code have it: `1.`, `0.10000000000000001`, `inf` (PyTorch: IValue::repr).
 */
export function formatFloat(value: number): string {
  if (Number.isFinite(value) && Math.floor(value) === value && Math.abs(value) < 1e10) {
    return Object.is(value, -0) ? '-0.' : `${value}.`;
  }
  return formatSignificant(value, 17);
}

/**
 * A float as programs and schemas print it: whole numbers that are int64 end in a point, and zero has no sign, since they go
 * through an integer (PyTorch: IValue's operator<<).
 */
export function formatPrintedFloat(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? `${BigInt(value)}.` : formatSignificant(value, 17);
}

/** A complex number, printed alike everywhere: `1.+2.j`, `0.-1.j`. NaN as imaginary part has a sign (PyTorch: printComplex). */
export function formatComplex({ re, im }: { readonly re: number; readonly im: number }): string {
  return `${formatPrintedFloat(re)}${im >= 0 ? '+' : '-'}${formatPrintedFloat(Math.abs(im))}j`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/**
 * A byte string in double quotes, other than printable ASCII as escapes (PyTorch: printQuotedString).
 *
 * PyTorch computes the octal digits of a *signed* char, so that bytes of 128 and more get digits below '0'. The same is
 * done here, for equal texts; {@link unquoteString} reads both forms.
 */
export function formatQuotedString(bytes: string): string {
  let out = '"';
  for (const character of bytes) {
    const escape = ESCAPES[character];
    if (escape !== undefined) {
      out += escape;
    } else if (character >= ' ' && character <= '~') {
      out += character;
    } else {
      out += `\\${signedOctal(character.charCodeAt(0))}`;
    }
  }
  return `${out}"`;
}

function signedOctal(byte: number): string {
  const signed = byte > 127 ? byte - 256 : byte;
  const digits = [Math.trunc(signed / 64), Math.trunc((signed % 64) / 8), signed % 8];
  return String.fromCharCode(...digits.map((digit) => 0x30 + digit));
}

/** A constant as PyTorch prints an IValue in a schema: `None`, `True`, `3`, `1.`, `[1, 2]`; strings without quotes. */
export function formatConstant(value: unknown): string {
  if (value === null) {
    return 'None';
  }
  if (typeof value === 'boolean') {
    return value ? 'True' : 'False';
  }
  if (typeof value === 'number') {
    return formatPrintedFloat(value);
  }
  if (typeof value !== 'object') {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(formatConstant).join(', ')}]`;
  }
  if ('re' in value && 'im' in value) {
    return formatComplex(value as { re: number; im: number });
  }
  if ('items' in value) {
    const items = (value.items as readonly unknown[]).map(formatConstant);
    return 'elementType' in value ? `[${items.join(', ')}]` : `(${items.join(', ')}${items.length === 1 ? ',' : ''})`;
  }
  if ('entries' in value) {
    const pairs = [...(value.entries as ReadonlyMap<unknown, unknown>)].map((pair) =>
      pair.map(formatConstant).join(': '),
    );
    return `{${pairs.join(', ')}}`;
  }
  if ('name' in value) {
    const { qualifiedName } = (value as unknown as { readonly type: { readonly qualifiedName: string } }).type;
    return `Enum<${qualifiedName.split('.').at(-1)}.${value.name}>`;
  }
  return String(value);
}
