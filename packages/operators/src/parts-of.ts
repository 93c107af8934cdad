import { isComplex, type ScalarType } from '@cresset/tensor';
import { NAMES, type PartName } from './part-table.ts';

/** A name without the `_` of an in-place form, which needs what the operator itself does. */
export const plainName = (name: string): string => name.replace(/([^_])_$/, '$1');

/** A function from identifiers to parts by a table, which is taken apart when it is first asked. */
export function lookUp(table: Readonly<Record<string, string>>): (identifiers: Iterable<string>) => Set<PartName> {
  let byName: ReadonlyMap<string, readonly PartName[]> | undefined;
  return (identifiers) => {
    byName ??= new Map(
      Object.entries(table).flatMap(([parts, names]) =>
        names.split(' ').map((name) => [name, parts.split(' ') as PartName[]] as const),
      ),
    );
    const found = new Set<PartName>();
    for (const identifier of identifiers) {
      // `nn.init.zeros_` is no form of `torch.zeros`.
      for (const name of [identifier, plainName(identifier)])
        partsOfName(byName, name).forEach((part) => found.add(part));
    }
    return found;
  };
}

/** Names of operators that need the part they are in and no other, as most derivatives do: the tables leave those out. */
const KNOWN_BY_FORM: readonly (readonly [RegExp, PartName])[] = [
  [/_backward$/, 'gradients'],
  [/mkldnn/, 'layers'],
  [/^fbgemm|^quantized_/, 'quantized'],
];

/** The part that the form of a name tells. */
export const partByForm = (name: string): PartName | undefined => KNOWN_BY_FORM.find(([form]) => form.test(name))?.[1];

const partsOfName = (table: ReadonlyMap<string, readonly PartName[]>, name: string): readonly PartName[] => {
  const part = partByForm(name);
  return table.get(name) ?? (part === undefined ? [] : [part]);
};

/** Whatever the code of a saved program calls, with the namespaces of `ops`: what `partsOf` is to be asked for. */
export function namesInCode(code: string): Set<string> {
  const called = [...code.matchAll(/\bops\.(\w+)|(\w+)\(/g)];
  return new Set(called.map(([, namespace, name]) => namespace ?? name));
}

/**
 * The parts of the library that a saved program needs whose code has these identifiers. They bring every operator the code calls, with those
 * that it comes to; a variable that has an operator's name brings a part for nothing. A part is the module `@cresset/operators/parts/NAME`,
 * whose `register` puts its operators in place.
 */
export const partsOf: (identifiers: Iterable<string>) => Set<PartName> = /* @__PURE__ */ lookUp(NAMES);

/** The parts without which a program that is given tensors of a dtype, or has them as weights, would do without what it can have. */
export function partsOfDtype(dtype: ScalarType): PartName[] {
  if (isComplex(dtype)) return ['complex'];
  return /^qu?int/.test(dtype) ? ['quantized'] : [];
}
