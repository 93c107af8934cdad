import { operatorRegistry, type OperatorSource, type Symbol } from '@cresset/ir';
import { aliasRows, firstNames } from './aliases.ts';
import { generatedOutForms } from './out-forms.ts';
import type { OperatorRow } from './row.ts';
import { variantsOf } from './variants.ts';

/**
 * Rows with all that is derived from them: second names, in-place and `out=` forms. These are made when their name is asked for: of a thousand
 * rows a program needs some dozens.
 */
export class RowForms {
  readonly #byName = new Map<Symbol, OperatorRow[]>();

  constructor(rows: readonly OperatorRow[]) {
    for (const row of rows) {
      const name = nameOf(row);
      const others = this.#byName.get(name);
      if (others) others.push(row);
      else this.#byName.set(name, [row]);
    }
  }

  /** All rows of a name: first those that stand in the table, then those derived from them. */
  of(name: Symbol): OperatorRow[] {
    const own = this.#named(name);
    // `__iand__` is `__and__` in place, and `add_` is `add`; what else comes of such a name is left out.
    const functional = [name.replace('::__i', '::__'), name.slice(0, -1)].filter((each) => each !== name);
    const inPlace = functional.flatMap((each) => this.#named(each)).flatMap(variantsOf);
    const rows = [...own.flatMap((row) => [row, ...variantsOf(row)]), ...inPlace, ...generatedOutForms(own)];
    return rows.filter((row) => nameOf(row) === name);
  }

  #named(name: Symbol): readonly OperatorRow[] {
    const rows = this.#byName.get(name) ?? [];
    const first = firstNames.get(name);
    return first === undefined ? rows : [...rows, ...aliasRows(this.#byName.get(first) ?? [], name)];
  }

  /** The names of all of them. */
  names(): Set<Symbol> {
    const named = [...this.#byName.keys(), ...firstNames.keys()].flatMap((name) => this.#named(name));
    return new Set(named.flatMap((row) => [row, ...variantsOf(row)]).map(nameOf));
  }
}

/** `aten::add` of a row. */
function nameOf({ schema }: OperatorRow): Symbol {
  const bracket = schema.indexOf('(');
  const dot = schema.indexOf('.');
  return schema.slice(0, dot === -1 || dot > bracket ? bracket : dot);
}

/** All rows that come of some. */
export function withForms(rows: readonly OperatorRow[]): OperatorRow[] {
  const forms = new RowForms(rows);
  return [...forms.names()].flatMap((name) => forms.of(name));
}

const registered = new WeakSet<readonly OperatorRow[]>();

/**
 * Puts a family's rows, and what is derived from them, into ir's registry, where the compiler finds their schemas and the runtime, as
 * `row`, what runs them. Does nothing the second time.
 */
export function registerFamily(rows: readonly OperatorRow[]): void {
  if (registered.has(rows)) return;
  registered.add(rows);
  operatorRegistry.addSource(sourceOf(rows));
}

function sourceOf(rows: readonly OperatorRow[]): OperatorSource {
  const forms = new RowForms(rows);
  return {
    names: () => forms.names(),
    declarationsOf: (name) =>
      forms.of(name).map((row) => ({
        schema: row.schema,
        row,
        nondeterministic: row.nondeterministic ?? false,
        aliasAnalysis: row.hasSideEffects ? 'conservative' : 'from-schema',
        mayGiveArguments: row.view !== undefined && !row.copies,
      })),
  };
}

/** The row of an operator by its qualified name and overload name ('' where it has none). */
export function findRow(name: string, overload: string): OperatorRow | undefined {
  return operatorRegistry.find(name, overload)?.row as OperatorRow | undefined;
}
