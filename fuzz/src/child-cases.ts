import { allocations } from './allocation-meter.ts';
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { registerAllParts } from '@cresset/runtime';
import { makeCase } from './case.ts';
import type { CaseInput } from './case-input.ts';
import type { ChildMessage } from './message.ts';
import { readSeedFiles, type SeedFiles } from './seed-files.ts';
import { expectCressetError } from './targets.ts';

/** Written at once: a message must be out before a case that hangs. */
function say(message: ChildMessage): void {
  writeSync(1, `${JSON.stringify(message)}\n`);
}

/** The stated bound: what the engine's heap and its buffers may grow by while one case is taken. */
const CONSTANT_BYTES = 96 << 20;
/** Deflate gives up to 1032 bytes for one, and they are kept once. */
const BYTES_PER_INPUT_BYTE = 1100;

async function takeCase(seed: number, seeds: SeedFiles): Promise<void> {
  let made: CaseInput | null = null;
  say({ begin: seed });
  try {
    made = makeCase(seed, seeds);
    say({ made: seed });
    const heap = process.memoryUsage().heapUsed;
    allocations.bytes = 0;
    const start = performance.now();
    let outcome = 'result';
    try {
      await made.take();
    } catch (error) {
      expectCressetError(error);
      outcome = (error as { code: string }).code;
    }
    const milliseconds = performance.now() - start;
    const bytes = allocations.bytes + Math.max(0, process.memoryUsage().heapUsed - heap);
    const bound = CONSTANT_BYTES + BYTES_PER_INPUT_BYTE * made.size;
    if (bytes > bound) throw new Error(`took ${bytes} bytes for an input of ${made.size}; the bound is ${bound}`);
    say({ end: seed, target: made.target, outcome, milliseconds, bytes });
  } catch (error) {
    // With its causes.
    say({ failed: seed, target: made?.target ?? '', reason: inspect(error).slice(0, 3000) });
  }
}

/** Takes the cases from `first` to `last`, every `step`th, telling of each on standard output. */
export async function takeCases(folder: string, first: number, last: number, step: number): Promise<void> {
  registerAllParts();
  const seeds = readSeedFiles(folder);
  for (let seed = first; step > 0 ? seed <= last : seed >= last; seed += step) await takeCase(seed, seeds);
  say({ done: true });
}
