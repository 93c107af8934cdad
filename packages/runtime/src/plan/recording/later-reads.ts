import type { Code } from '../../interpreter/code/code.ts';
import type { Instruction } from '../../interpreter/code/instruction.ts';

/** What was found out: many recordings end at one place. */
const known = new WeakMap<Code, Map<number, ReadonlySet<number>>>();

/** Registers that are read by instructions which may run once the one at `start` is next. */
export function laterReads(code: Code, start: number): ReadonlySet<number> {
  let ofCode = known.get(code);
  if (!ofCode) known.set(code, (ofCode = new Map()));
  let reads = ofCode.get(start);
  if (!reads) ofCode.set(start, (reads = readsFrom(code, start)));
  return reads;
}

function readsFrom({ instructions }: Code, start: number): Set<number> {
  const reads = new Set<number>();
  const seen = new Set<number>();
  const pending = [start];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const instruction = instructions[at];
    for (const register of instruction.inputs) if (register >= 0) reads.add(register);
    pending.push(...successors(instruction, at));
  }
  return reads;
}

function successors(instruction: Instruction, at: number): number[] {
  switch (instruction.op) {
    case 'RETURN':
    case 'RAISE':
      return [];
    case 'JUMP':
      return [instruction.operand.target];
    case 'JUMP_IF_FALSE':
    case 'LOOP':
      return [at + 1, instruction.operand.target];
    default:
      return [at + 1];
  }
}
