import { Source, SourceRange } from '@cresset/ir';
import type { JsonObject } from '../json-object.ts';

const FRAME = /File "([^"\n]*)", line (\d+), in [^\n]*\n([^\n]*)/g;

/** The lines of the author's Python that nodes came from, as far as the file has them. */
export class SourceLines {
  readonly #ranges = new Map<string, SourceRange>();

  /** The innermost line of a node's stack trace. */
  rangeOf(metadata: JsonObject | null): SourceRange | undefined {
    const trace = metadata?.get('stack_trace');
    if (typeof trace !== 'string') return undefined;
    const frame = [...trace.matchAll(FRAME)].at(-1);
    if (!frame) return undefined;
    const [, file, line, code] = frame;
    const key = `${file}:${line}`;
    let range = this.#ranges.get(key);
    if (!range) {
      const text = `    ${code.trim()}\n`;
      range = new SourceRange(new Source(text, file, Number(line) - 1), 4, text.length - 1);
      this.#ranges.set(key, range);
    }
    return range;
  }
}
