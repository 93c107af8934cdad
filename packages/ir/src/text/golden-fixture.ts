import { existsSync, readFileSync } from 'node:fs';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** Goldens printed by PyTorch lie beside the repository; where they do not, the tests over them are skipped. */
const SHARED = new URL('../../../../../shared/', import.meta.url);

function sharedText(path: string): string | undefined {
  const file = fileURLToPath(new URL(path, SHARED));
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** The cases of a file of IR goldens, or undefined where the goldens are not there. */
export function goldenCases<T>(name: string): T[] | undefined {
  const lines = sharedText(`conformance/ir/${name}`)?.split('\n');
  return lines?.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as T);
}

/** The schema texts of PyTorch's operators, or undefined where the list is not there. */
export function referenceSchemas(): string[] | undefined {
  const lines = sharedText('reference/aten-schemas.txt')?.split('\n');
  return lines?.filter((line) => line.trim() !== '' && !line.startsWith('#'));
}

/** Counts cases that hold and keeps the first reasons of those that do not. */
export class Tally {
  #passed = 0;
  readonly #failures: string[] = [];

  run(id: string, check: () => void): void {
    try {
      check();
      this.#passed++;
    } catch (error) {
      this.#failures.push(`${id}: ${reasonOf(error).slice(0, 1500)}`);
    }
  }

  /** Fails, showing the first failures, where fewer than this part of the cases hold. */
  expectAtLeast(part: number): void {
    const total = this.#passed + this.#failures.length;
    const shown = env['GOLDEN_FAILURES'] === undefined ? 5 : Number(env['GOLDEN_FAILURES']);
    if (env['GOLDEN_FAILURES'] !== undefined) {
      console.log(`${this.#passed} of ${total}\n${this.#failures.slice(0, shown).join('\n')}`);
    }
    expect(this.#passed / total, this.#failures.slice(0, shown).join('\n')).toBeGreaterThanOrEqual(part);
  }
}

function reasonOf(error: unknown): string {
  const { message, actual, expected } = error as { message?: string; actual?: unknown; expected?: unknown };
  return typeof expected === 'string'
    ? `\n--- expected\n${expected}\n--- actual\n${String(actual)}`
    : (message ?? String(error));
}
