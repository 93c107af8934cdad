import { AnyType, CressetError, type Type } from '@cresset/ir';
import { Dict, type IValue, List, ScriptObject, Tuple } from '@cresset/tensor';
import { type PickleContext, PickleGlobals } from './pickle-globals.ts';
import type { PickleValue } from './pickle-value.ts';
import type { SourceImporter } from '../source-importer.ts';
import { TypeRestoration } from '../type-restoration.ts';
import { Unpickler } from './unpickler.ts';

/** An object whose class has `__setstate__`: that has to be run with `state` before the object is used, inner objects first. */
export interface PendingState {
  readonly object: ScriptObject;
  readonly state: IValue;
}

/** Reads one pickle of TorchScript values, whose classes are those of an importer. */
export class ObjectPickle {
  /** In the order in which `__setstate__` has to be run. */
  readonly pendingStates: PendingState[] = [];
  readonly #name: string;
  readonly #globals: PickleGlobals;
  readonly #built: ScriptObject[] = [];

  /**
   * @param name what an error message calls the pickle.
   * @param tensors where its tensors are.
   */
  constructor(
    name: string,
    importer: SourceImporter,
    tensors: Pick<PickleContext, 'storage' | 'tensorTable'>,
    Globals = PickleGlobals,
  ) {
    this.#name = name;
    const context = {
      ...tensors,
      resolveClass: (className: string): Type | null => importer.resolveType(className) ?? null,
      parseType: (text: string): Type => importer.parseType(text),
      build: (object: ScriptObject, state: PickleValue): void => this.#build(object, state),
    };
    this.#globals = new Globals(context, name);
  }

  /** A tuple of values, or a list of them. */
  readItems(pickle: Uint8Array): readonly IValue[] {
    const value = this.#read(pickle);
    if (!(value instanceof Tuple || value instanceof List)) throw this.#damaged('its value is no tuple');
    const restoration = new TypeRestoration();
    value.items.forEach((item, index) => restoration.value(item, AnyType.get(), `value ${index}`));
    this.#restore(restoration);
    return value.items;
  }

  readModule(pickle: Uint8Array): ScriptObject {
    const value = this.#read(pickle);
    if (!(value instanceof ScriptObject)) throw this.#damaged('its value is no module');
    this.#restore(new TypeRestoration());
    return value;
  }

  #read(pickle: Uint8Array): PickleValue {
    return new Unpickler(pickle, this.#globals, this.#name).load();
  }

  #build(object: ScriptObject, state: PickleValue): void {
    const { type } = object;
    if (type.findMethod('__setstate__') && type.findMethod('__getstate__')) {
      this.pendingStates.push({ object, state: state as IValue });
      return;
    }
    if (!(state instanceof Dict))
      throw this.#damaged(`the state of an object of class '${type.qualifiedName}' is no dict`);
    for (const [name, value] of state.entries) {
      const slot = type.findAttributeSlot(String(name));
      if (slot !== undefined) object.slots[slot] = value;
    }
    this.#built.push(object);
  }

  #restore(restoration: TypeRestoration): void {
    for (const object of this.#built) restoration.object(object);
    for (const { object, state } of this.pendingStates) {
      const parameter = object.type.getMethod('__setstate__').schema.arguments[1];
      restoration.value(state, parameter?.type ?? AnyType.get(), `the state of class '${object.type.qualifiedName}'`);
    }
  }

  #damaged(what: string): CressetError {
    return new CressetError('PICKLE_MALFORMED', `${this.#name} is damaged: ${what}`);
  }
}
