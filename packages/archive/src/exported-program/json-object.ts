import { CressetError } from '@cresset/ir';

/** A value of JSON; an int is a bigint and a float a number. */
export type Json = null | boolean | bigint | number | string | readonly Json[] | JsonObject;

/** An object of JSON. What is asked of it is checked: each question throws `EXPORT_MALFORMED` where the answer is of another kind. */
export class JsonObject {
  /** @param name what a message calls the text that it stands in */
  constructor(
    readonly entries: ReadonlyMap<string, Json>,
    readonly name: string,
  ) {}

  /** Undefined where there is none, and where it is null. */
  get(key: string): Exclude<Json, null> | undefined {
    return this.entries.get(key) ?? undefined;
  }

  object(key: string): JsonObject {
    const value = this.get(key);
    return value instanceof JsonObject ? value : this.#fail(key, 'object');
  }

  list(key: string): readonly Json[] {
    const value = this.get(key);
    return isJsonList(value) ? value : this.#fail(key, 'list');
  }

  objects(key: string): readonly JsonObject[] {
    const items = this.list(key);
    return items.every((item) => item instanceof JsonObject) ? items : this.#fail(key, 'list of objects');
  }

  text(key: string): string {
    const value = this.get(key);
    return typeof value === 'string' ? value : this.#fail(key, 'text');
  }

  int(key: string): bigint {
    const value = this.get(key);
    return typeof value === 'bigint' ? value : this.#fail(key, 'int');
  }

  flag(key: string): boolean {
    return this.get(key) === true;
  }

  /** The tag and the value of a union, which is an object of one key. */
  variant(): readonly [tag: string, value: Json] {
    const [entry, ...others] = this.entries;
    if (entry === undefined || others.length > 0) {
      throw new CressetError('EXPORT_MALFORMED', `${this.name} is damaged: a union has ${this.entries.size} values`);
    }
    return entry;
  }

  #fail(key: string, wanted: string): never {
    throw new CressetError('EXPORT_MALFORMED', `${this.name} is damaged: '${key}' is no ${wanted}`);
  }
}

export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
