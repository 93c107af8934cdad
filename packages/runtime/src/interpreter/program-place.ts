import type { Node, StackEntry } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';

/** A call in progress: the node that its function is at. */
export interface CallInProgress {
  readonly node: Node;
  readonly functionName: string;
}

/** A program that rests at an instruction, or is just running one. */
export interface RunningProgram {
  /** Its calls, outermost first. */
  calls(): CallInProgress[];
  /** What its registers hold. */
  values(): IValue[];
  /** Instructions that it ran. */
  readonly instructions: number;
}

/** Where a program is when an operator is called, for errors that come to light later. */
export class ProgramPlace {
  /** @param member the operator of a fused group that is called */
  constructor(
    private readonly program: RunningProgram | null,
    private readonly member: Node | null,
  ) {}

  calls(): CallInProgress[] {
    const calls = this.program?.calls() ?? [];
    const last = calls.pop();
    return last ? [...calls, { ...last, node: this.member ?? last.node }] : calls;
  }
}

/** The call stack as errors print it: functions inlined into one graph count as calls. */
export function stackOf(calls: readonly CallInProgress[]): StackEntry[] {
  return calls.flatMap(({ node, functionName }) => stackEntriesOf(node, functionName));
}

/** Where a node stands, outermost call first: functions inlined into one graph count as calls. */
export function stackEntriesOf(node: Node, functionName: string): StackEntry[] {
  const entries: StackEntry[] = [];
  let name = functionName;
  for (const call of node.callstack?.entries() ?? []) {
    if (call.sourceRange) entries.push({ functionName: name, range: call.sourceRange });
    name = call.functionName;
  }
  if (node.sourceRange) entries.push({ functionName: name, range: node.sourceRange });
  return entries;
}
