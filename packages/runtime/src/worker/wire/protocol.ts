import type { TransferProgress } from '@cresset/archive';
import type { Explanation } from '../../explanation.ts';
import type { CallProfile, PassStep } from '../../inspection/profiling/profile-report.ts';
import type { TrainAnswer } from '../../training/training-requests.ts';
import type { CallResult, CoreRequest, ModelSummary, StartRequest, StateDictReport } from '../core-requests.ts';
import type {
  InputExpectations,
  MemoryEstimate,
  MemoryReport,
  ModelMemoryReport,
  PartRequest,
  RunOperatorNotice,
  VerificationReport,
} from '../part-requests.ts';
import type { WireError, WireTensor, WireValue } from './wire-format.ts';

/**
 * What page and worker say to each other: one message a line of talk, told apart by `type`. Requests carry an id that their
 * answer repeats. Elements of tensors travel in ArrayBuffers on the transfer list, never as copies.
 */
export type * from '../core-requests.ts';
export type * from '../part-requests.ts';
export type * from './wire-format.ts';
export type * from '../../training/training-requests.ts';

export type Request = CoreRequest | PartRequest | StartRequest;

export type Answer =
  | { readonly type: 'constructed'; readonly id: number; readonly path: string; readonly summary: ModelSummary }
  | { readonly type: 'attribute'; readonly id: number; readonly value: WireValue }
  | { readonly type: 'saved'; readonly id: number; readonly bytes: ArrayBuffer }
  | { readonly type: 'verified'; readonly id: number; readonly report: VerificationReport }
  | { readonly type: 'profiled'; readonly id: number; readonly profile: CallProfile }
  | { readonly type: 'passes'; readonly id: number; readonly steps: readonly PassStep[] }
  | { readonly type: 'expected-inputs'; readonly id: number; readonly expectations: InputExpectations }
  | { readonly type: 'loaded'; readonly id: number; readonly summary: ModelSummary }
  | {
      readonly type: 'checkpoint';
      readonly id: number;
      readonly tensors: readonly (readonly [name: string, tensor: WireTensor])[];
    }
  | { readonly type: 'estimated'; readonly id: number; readonly estimate: MemoryEstimate }
  | { readonly type: 'state-dict-loaded'; readonly id: number; readonly report: StateDictReport }
  | { readonly type: 'called'; readonly id: number; readonly result: CallResult }
  | { readonly type: 'text'; readonly id: number; readonly text: string }
  | { readonly type: 'explained'; readonly id: number; readonly explanation: Explanation }
  | { readonly type: 'tensor'; readonly id: number; readonly tensor: WireTensor }
  | { readonly type: 'memory'; readonly id: number; readonly report: MemoryReport }
  | { readonly type: 'model-memory'; readonly id: number; readonly report: ModelMemoryReport }
  | TrainAnswer
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: WireError; readonly result: CallResult | null };

/** What the host says without being asked, or on the way to an answer. */
export type Notice =
  | { readonly type: 'ready' }
  /** Of a `load`, also after its answer: weights of a large file come when they are needed. */
  | { readonly type: 'progress'; readonly id: number; readonly progress: TransferProgress }
  | { readonly type: 'print'; readonly text: string }
  | { readonly type: 'warning'; readonly text: string }
  /** Lines of the compiler's log. */
  | { readonly type: 'log'; readonly text: string }
  | RunOperatorNotice;

export type FromHost = Answer | Notice;

/** One end of a channel of messages: a Worker, a worker's global scope, or one end of `inProcessPorts`. */
export interface Port<Incoming, Outgoing> {
  send(message: Outgoing, transfer: Transferable[]): void;
  /** Called with each message; set once. */
  receive(handler: (message: Incoming) => void): void;
  /** Told when an answer is waited for, and when none is any more. */
  hold?(isNeeded: boolean): void;
}

/** The ArrayBuffers in a value, each once: what a message puts on its transfer list. */
export function transferList(value: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const each = pending.pop();
    if (each === null || typeof each !== 'object') continue;
    if (each instanceof ArrayBuffer) found.add(each);
    else if (Array.isArray(each)) for (const item of each) pending.push(item);
    else if (!ArrayBuffer.isView(each)) for (const item of Object.values(each)) pending.push(item);
  }
  return [...found];
}
