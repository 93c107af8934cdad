import { CressetError } from '@cresset/ir';

/** A piece of the library that is fetched when something first needs it. */
export interface Part {
  /** Makes known what is in it. Called once. */
  register?(): void;
}

/** How each part is come by, by its name. */
export type PartImports = Readonly<Record<string, () => Promise<Part>>>;

/** A part that was needed, as `load` and `explain()` tell it. */
export interface PartUse {
  readonly name: string;
  /** What needed it: an operator (`aten::svd`), a form of file, a request. */
  readonly reason: string;
}

/**
 * Fetches parts, each once, whoever asks for it first. What has been made known by one of them is known to the whole thread from then on.
 */
export class PartLoader {
  readonly #imports: PartImports;
  readonly #parts = new Map<string, Promise<Part>>();

  constructor(imports: PartImports) {
    this.#imports = imports;
  }

  /** Takes a part that is here already. */
  provide(name: string, part: Part): void {
    part.register?.();
    this.#parts.set(name, Promise.resolve(part));
  }

  /** Resolves when a part can be used. Rejects with `PART_MISSING` where it cannot be fetched; it is tried again the next time. */
  need(name: string): Promise<Part> {
    let part = this.#parts.get(name);
    if (!part) {
      part = this.#fetch(name).catch((error: unknown) => {
        this.#parts.delete(name);
        throw error;
      });
      this.#parts.set(name, part);
    }
    return part;
  }

  async #fetch(name: string): Promise<Part> {
    if (!(name in this.#imports)) throw new CressetError('PART_MISSING', `the library has no part '${name}'`);
    const part = await this.#imports[name]();
    part.register?.();
    return part;
  }
}
