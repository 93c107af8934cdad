import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { elementSize, hostArray, type ScalarType, type Tensor } from '@cresset/tensor';
import type { Outcome, TensorCopy } from './execution.ts';
import { argumentsOf, stateOf } from './inputs.ts';
import { sourceOf, type Program } from './program.ts';

/** An interpreter of Python that has PyTorch, and the script that it runs (pytorch.py). */
export interface PyTorchPlace {
  readonly python: string;
  readonly script: string;
}

/** A program that PyTorch saved, and what the calls come to there; or why it does not compile it. */
export type PyTorchAnswer =
  | {
      readonly file: Uint8Array;
      readonly outcomes: readonly Outcome[];
      /** Whether an operator reads elements of what it writes at other points, as far as that was asked: what it comes to is left open. */
      readonly overlaps: boolean;
    }
  | { readonly refused: string };

interface TensorJson {
  readonly dtype: ScalarType;
  readonly sizes: readonly number[];
  /** Its bytes, in base64. */
  readonly data: string;
}
type OutcomeJson = { readonly error: string } | { readonly values: Readonly<Record<string, TensorJson | string>> };
type AnswerJson =
  | { readonly refused: string }
  | { readonly file: string; readonly outcomes: readonly OutcomeJson[]; readonly overlaps: boolean };

interface Process {
  readonly input: Writable;
  readonly lines: AsyncIterator<string>;
  /** How it ended. */
  readonly ended: Promise<NodeJS.Signals | null>;
}

/** A process of Python that takes one program after the other. */
export class PyTorch {
  #process: Process | null = null;

  constructor(private readonly place: PyTorchPlace) {}

  /**
   * Scripts, saves and calls a program; null where that ends the process itself, as the remainder of a division by zero does. Rejects where there is no PyTorch.
   *
   * @param watches asks for `overlaps` too, which takes longer
   */
  async take(program: Program, nudge = 0, watches = false): Promise<PyTorchAnswer | null> {
    const { input, lines, ended } = (this.#process ??= start(this.place));
    input.write(`${JSON.stringify({ ...questionOf(program, nudge), watches })}\n`);
    const line = await lines.next();
    if (line.done) {
      this.#process = null;
      if ((await ended) === null) throw new Error(`${this.place.python} runs no PyTorch`);
      return null;
    }
    const answer = JSON.parse(line.value) as AnswerJson;
    if ('refused' in answer) return answer;
    const { file, outcomes, overlaps } = answer;
    return { file: Buffer.from(file, 'base64'), outcomes: outcomes.map(outcomeOf), overlaps };
  }

  close(): void {
    this.#process?.input.end();
    this.#process = null;
  }
}

function start({ python, script }: PyTorchPlace): Process {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  // A write to a process that has ended fails: how it ended says why.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<NodeJS.Signals | null>((resolve, reject) => {
    child.on('exit', (_, signal) => resolve(signal));
    child.on('error', reject);
  });
  return { input: child.stdin, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), ended };
}

function questionOf(program: Program, nudge: number): object {
  return {
    source: sourceOf(program),
    state: encoded(stateOf(program, nudge)),
    calls: program.calls.map((call) => {
      const { x, y, n, l } = argumentsOf(program, call, nudge);
      return { x: encoded(x), y: y === x ? null : encoded(y), n, l: l.map(encoded) };
    }),
  };
}

function encoded(tensor: Tensor): TensorJson {
  const { buffer, byteOffset, byteLength } = tensor.contiguousArray();
  const { dtype, sizes } = tensor;
  return { dtype, sizes, data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}

function outcomeOf(outcome: OutcomeJson): Outcome {
  if ('error' in outcome) return { ...outcome, isInternal: false };
  return {
    values: new Map(
      Object.entries(outcome.values).map(([name, value]) => [name, typeof value === 'string' ? value : decoded(value)]),
    ),
  };
}

function decoded({ dtype, sizes, data }: TensorJson): TensorCopy {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  return { dtype, sizes, elements: hostArray(dtype, bytes.buffer, 0, bytes.length / elementSize(dtype)) };
}
