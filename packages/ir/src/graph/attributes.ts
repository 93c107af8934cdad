import type { Complex } from '../complex.ts';
import { CressetError } from '../error.ts';
import type { Graph } from './graph.ts';
import type { Type } from '../types/type.ts';

/** A tensor held by a graph. Of its data the graph knows nothing. */
export interface TensorAttribute {
  readonly dtype: string;
  readonly sizes: readonly number[];
  /** How graphs show it: `{3}` for one element, see {@link printScalarTensor}; `<Tensor>` without this. */
  graphText?(): string;
}

/** Any other value held by a graph: lists, dicts, tuples, enum members, objects. See constant-value.ts for their forms. */
export type IValueAttribute = unknown;

/** Kinds of attributes, named as PyTorch names their accessors, and what each holds. */
export interface AttributeValues {
  f: number;
  fs: readonly number[];
  c: Complex;
  cs: readonly Complex[];
  i: bigint;
  is: readonly bigint[];
  /** Byte strings: their code units are UTF-8 bytes. */
  s: string;
  ss: readonly string[];
  t: TensorAttribute;
  ts: readonly TensorAttribute[];
  g: Graph;
  gs: readonly Graph[];
  ty: Type;
  tys: readonly Type[];
  ival: IValueAttribute;
}

export type AttributeKind = keyof AttributeValues;

export type AttributeEntry = {
  [K in AttributeKind]: { readonly kind: K; readonly value: AttributeValues[K] };
}[AttributeKind];

/**
 * The attributes of a node, in the order they were set (PyTorch: the attribute half of Node).
 *
 * Names are without `attr::`. Setters return the node, so that they chain; getters throw `IR_ATTRIBUTE` where there is no
 * attribute of that name and kind.
 */
export abstract class Attributes {
  #entries: Map<string, AttributeEntry> | undefined;

  hasAttribute(name: string): boolean {
    return this.#entries?.has(name) ?? false;
  }

  hasAttributes(): boolean {
    return this.#entries !== undefined && this.#entries.size > 0;
  }

  get attributeNames(): readonly string[] {
    return this.#entries === undefined ? [] : [...this.#entries.keys()];
  }

  kindOf(name: string): AttributeKind {
    return this.attribute(name).kind;
  }

  /** Kind and value of an attribute. */
  attribute(name: string): AttributeEntry {
    const entry = this.#entries?.get(name);
    if (entry === undefined) {
      throw new CressetError('IR_ATTRIBUTE', `required keyword attribute '${name}' is undefined`);
    }
    return entry;
  }

  removeAttribute(name: string): this {
    this.attribute(name);
    this.#entries?.delete(name);
    return this;
  }

  /** Takes over all attributes of another node; graphs are copied. */
  copyAttributes(from: Attributes): this {
    this.#entries = from.#entries && new Map(from.#entries);
    for (const [name, entry] of this.#entries ?? []) {
      if (entry.kind === 'g' || entry.kind === 'gs') this.#entries!.set(name, cloneEntry(entry));
    }
    return this;
  }

  setAttribute(name: string, entry: AttributeEntry): this {
    (this.#entries ??= new Map()).set(name, entry);
    return this;
  }

  f(name: string): number {
    return this.#get(name, 'f');
  }
  setF(name: string, value: number): this {
    return this.setAttribute(name, { kind: 'f', value });
  }
  fs(name: string): readonly number[] {
    return this.#get(name, 'fs');
  }
  c(name: string): Complex {
    return this.#get(name, 'c');
  }
  setC(name: string, value: Complex): this {
    return this.setAttribute(name, { kind: 'c', value });
  }
  cs(name: string): readonly Complex[] {
    return this.#get(name, 'cs');
  }
  i(name: string): bigint {
    return this.#get(name, 'i');
  }
  setI(name: string, value: bigint | number): this {
    return this.setAttribute(name, { kind: 'i', value: BigInt(value) });
  }
  is(name: string): readonly bigint[] {
    return this.#get(name, 'is');
  }
  setIs(name: string, value: readonly (bigint | number)[]): this {
    return this.setAttribute(name, { kind: 'is', value: value.map(BigInt) });
  }
  s(name: string): string {
    return this.#get(name, 's');
  }
  setS(name: string, value: string): this {
    return this.setAttribute(name, { kind: 's', value });
  }
  ss(name: string): readonly string[] {
    return this.#get(name, 'ss');
  }
  t(name: string): TensorAttribute {
    return this.#get(name, 't');
  }
  setT(name: string, value: TensorAttribute): this {
    return this.setAttribute(name, { kind: 't', value });
  }
  ts(name: string): readonly TensorAttribute[] {
    return this.#get(name, 'ts');
  }
  g(name: string): Graph {
    return this.#get(name, 'g');
  }
  setG(name: string, value: Graph): this {
    return this.setAttribute(name, { kind: 'g', value });
  }
  gs(name: string): readonly Graph[] {
    return this.#get(name, 'gs');
  }
  ty(name: string): Type {
    return this.#get(name, 'ty');
  }
  setTy(name: string, value: Type): this {
    return this.setAttribute(name, { kind: 'ty', value });
  }
  tys(name: string): readonly Type[] {
    return this.#get(name, 'tys');
  }
  setTys(name: string, value: readonly Type[]): this {
    return this.setAttribute(name, { kind: 'tys', value });
  }
  ival(name: string): IValueAttribute {
    return this.#get(name, 'ival');
  }
  setIval(name: string, value: IValueAttribute): this {
    return this.setAttribute(name, { kind: 'ival', value });
  }

  #get<K extends AttributeKind>(name: string, kind: K): AttributeValues[K] {
    const entry = this.attribute(name);
    if (entry.kind !== kind) {
      throw new CressetError(
        'IR_ATTRIBUTE',
        `required keyword attribute '${name}' has the wrong type: it is ${entry.kind}, not ${kind}`,
      );
    }
    return entry.value as AttributeValues[K];
  }
}

function cloneEntry(entry: Extract<AttributeEntry, { kind: 'g' | 'gs' }>): AttributeEntry {
  return entry.kind === 'g'
    ? { kind: 'g', value: entry.value.copy() }
    : { kind: 'gs', value: entry.value.map((graph) => graph.copy()) };
}
