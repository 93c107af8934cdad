/** Line ends taken in before and after the line an error points at (PyTorch: SourceRange::CONTEXT). */
const CONTEXT_LINES = 3;
/** A message shows no more than this before and after a place, and of the place itself: a line may be the whole file. */
const MAX_SHOWN = 1 << 14;

/**
 * Finds the range of original source that a range of generated source came from (PyTorch: SourceRangeUnpickler).
 *
 * An archive's `debug_pkl` is one; reading it may wait until the first call.
 */
export interface SourceRangeFactory {
  findSourceRangeThatGenerated(range: SourceRange): SourceRange | undefined;
}

/** A text that code was compiled from, with its name and place (PyTorch: Source). */
export class Source {
  readonly text: string;
  readonly filename: string | undefined;
  /** The line number, counted from 0, that the text's first line has in its file. */
  readonly startingLine: number;
  readonly #generatedRanges: SourceRangeFactory | undefined;
  /** Definitions in a file that messages show by themselves, as PyTorch has each as a text of its own; in order, from line to line. */
  readonly sections: (readonly [start: number, end: number])[] = [];
  #lineStarts: number[] | undefined;

  constructor(text: string, filename?: string, startingLine = 0, generatedRanges?: SourceRangeFactory) {
    this.text = text;
    this.filename = filename;
    this.startingLine = startingLine;
    this.#generatedRanges = generatedRanges;
  }

  /** The line within this text, counted from 0, that the character at `offset` stands in. */
  lineOf(offset: number): number {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Offset of the first character of `line`, counted from 0 (PyTorch: offset_for_line). */
  offsetOfLine(line: number): number {
    return this.#starts()[line] ?? this.text.length;
  }

  /** PyTorch: lineno_to_source_lineno. */
  fileLine(line: number): number {
    return this.filename === undefined ? line : line + this.startingLine;
  }

  findSourceRangeThatGenerated(range: SourceRange): SourceRange | undefined {
    return this.#generatedRanges?.findSourceRangeThatGenerated(range);
  }

  #starts(): number[] {
    if (this.#lineStarts === undefined) {
      const starts = [0];
      for (let at = this.text.indexOf('\n'); at !== -1; at = this.text.indexOf('\n', at + 1)) {
        starts.push(at + 1);
      }
      this.#lineStarts = starts;
    }
    return this.#lineStarts;
  }
}

/** Characters `start` (included) to `end` (excluded) of a {@link Source} (PyTorch: SourceRange). */
export class SourceRange {
  readonly source: Source;
  readonly start: number;
  readonly end: number;

  constructor(source: Source, start: number, end: number) {
    this.source = source;
    this.start = start;
    this.end = end;
  }

  text(): string {
    return this.source.text.slice(this.start, this.end);
  }

  size(): number {
    return this.end - this.start;
  }

  /** File name, line counted from 1 and column counted from 0, where the source has a file (PyTorch: file_line_col). */
  fileLineCol(): readonly [file: string, line: number, column: number] | undefined {
    const { source } = this;
    if (source.filename === undefined) {
      return undefined;
    }
    const line = source.lineOf(this.start);
    return [source.filename, source.fileLine(line) + 1, this.start - source.offsetOfLine(line)];
  }

  /** The original range this one was generated from, where that is known. */
  original(): SourceRange | undefined {
    return this.source.findSourceRangeThatGenerated(this);
  }

  /** The source lines around this range, with `~~~~ <--- HERE` under it; the original source first where known. */
  highlight(): string {
    const original = this.original();
    const before = original === undefined ? '' : `${original.highlight()}Serialized `;
    return before + this.printWithContext(CONTEXT_LINES, true, '');
  }

  /** PyTorch: SourceRange::print_with_context. */
  printWithContext(contextLines: number, highlight: boolean, functionName: string): string {
    const { text } = this.source;
    if (this.size() === text.length) {
      return text;
    }
    if (this.start > text.length) {
      return '';
    }
    // Some ranges reach past the end of their source.
    const end = Math.min(this.end, text.length, this.start + MAX_SHOWN);
    const [first, last] = this.source.sections.find(([from, to]) => from <= this.start && this.end <= to) ?? [
      0,
      text.length,
    ];
    const contextBegin = Math.max(beginOfContext(text, this.start, contextLines), this.start - MAX_SHOWN, first);
    const contextEnd = Math.min(endOfContext(text, end, contextLines), end + MAX_SHOWN, last);

    let out = '';
    const place = this.fileLineCol();
    if (place !== undefined) {
      out += `  File "${place[0]}", line ${place[1]}${functionName === '' ? '' : `, in ${functionName}`}\n`;
    }
    out += text.slice(contextBegin, this.start);
    let afterLines = end;
    if (highlight) {
      const lines = this.#highlightedLines(end, contextBegin);
      out += lines.text;
      afterLines = lines.end;
    } else {
      out += text.slice(this.start, end);
    }
    const rest = afterLines <= text.length ? text.slice(afterLines, Math.max(afterLines, contextEnd)) : '';
    out += rest;
    return rest !== '' && !rest.endsWith('\n') ? `${out}\n` : out;
  }

  #highlightedLines(end: number, contextBegin: number): { text: string; end: number } {
    const { text } = this.source;
    let out = '';
    let lineStart = this.start;
    while (lineStart < end) {
      const newline = text.indexOf('\n', lineStart);
      const lineEnd = Math.min(newline === -1 ? text.length : newline, end + MAX_SHOWN);
      out += `${text.slice(lineStart, lineEnd)}\n`;

      const lineBegin = lineStart === 0 ? 0 : Math.max(text.lastIndexOf('\n', lineStart - 1) + 1, contextBegin);
      const markEnd = Math.min(lineEnd, end);
      let blank = 0;
      while (lineBegin + blank < markEnd && (text[lineBegin + blank] === ' ' || lineBegin + blank < this.start)) {
        blank++;
      }
      const marked = markEnd - lineBegin - blank;
      if (marked > 0) {
        // A range may take in white space on further lines; only a line with something in it counts as more.
        const moreLines = lineEnd < end && /[^\n ]/.test(text.slice(lineEnd, end + 1));
        out += `${' '.repeat(blank)}${'~'.repeat(marked)}${moreLines ? '\n' : ' <--- HERE\n'}`;
      }
      lineStart = lineEnd + 1;
    }
    return { text: out, end: Math.max(lineStart, this.start) };
  }
}

/** PyTorch counts line ends and not lines: of three, the first is that of the line before the range. */
function beginOfContext(text: string, start: number, lineEnds: number): number {
  let begin = start;
  for (let count = 0; count < lineEnds; count++) {
    begin = begin === 0 ? -1 : text.lastIndexOf('\n', begin - 1);
    if (begin === -1) {
      return 0;
    }
  }
  return begin + 1;
}

function endOfContext(text: string, end: number, lineEnds: number): number {
  let at = end - 1;
  for (let count = 0; count < lineEnds; count++) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) {
      return text.length;
    }
  }
  return at;
}

/** A frame of a run-time or inlining call stack (PyTorch: StackEntry). */
export interface StackEntry {
  readonly functionName: string;
  readonly range: SourceRange;
}

/** Prints a run-time call stack as PyTorch's format_stack_trace does, serialised and original code apart. */
export function formatStackTrace(entries: readonly StackEntry[]): string {
  const originals = entries.map((entry) => entry.range.original());
  const hasOriginals = originals.some((range) => range !== undefined);
  const print = (range: SourceRange, entry: StackEntry): string =>
    range.printWithContext(CONTEXT_LINES, true, entry.functionName);
  let out = `Traceback of TorchScript${hasOriginals ? ', serialized code' : ''} (most recent call last):\n`;
  out += entries.map((entry) => print(entry.range, entry)).join('');
  if (hasOriginals) {
    out += '\nTraceback of TorchScript, original code (most recent call last):\n';
    out += entries.map((entry, index) => print(originals[index] ?? entry.range, entry)).join('');
  }
  return out;
}
