import type { Type, TupleType } from '@cresset/ir';
import type { HostContext, PreparedCall } from '@cresset/operators';
import {
  List,
  Storage,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
  type SymKind,
  type SymNode,
} from '@cresset/tensor';
import { numberOfNow } from './numbers-of-sizes.ts';

/** Where a step takes an argument from. */
export type StepInput =
  | { readonly kind: 'live-in'; readonly at: number }
  | { readonly kind: 'constant'; readonly value: IValue }
  /** The number that an expression of sizes is. */
  | { readonly kind: 'size'; readonly of: SymNode<SymKind> }
  /** A view of the tensor that is the live-in of this number. */
  | {
      readonly kind: 'view';
      readonly of: number;
      readonly dtype: ScalarType;
      readonly sizes: readonly number[];
      readonly strides: readonly number[];
      readonly offset: number;
    }
  | { readonly kind: 'list'; readonly elementType: Type; readonly items: readonly StepInput[] }
  | { readonly kind: 'tuple'; readonly type: TupleType | null; readonly items: readonly StepInput[] };

/** Whether an argument is the same each time. */
export function isFixed(input: StepInput): boolean {
  return input.kind === 'constant' || ('items' in input && input.items.every(isFixed));
}

/** A call on the host that was made ready, with elements that are others each time. */
export interface HostStep {
  readonly op: 'host';
  /** The operator's name in the counts. */
  readonly name: string;
  readonly call: PreparedCall;
  readonly inputs: readonly StepInput[];
}

/** Puts an argument that is another one each time where it belongs; null takes it away again. */
type Filler = (liveIns: readonly IValue[] | null) => void;

const nowhere = Storage.zeros('uint8', 0);

/** Does a step again and again, with the same list of arguments and, where nobody keeps its result, in the same memory. */
export class RepeatedStep {
  readonly #args: IValue[];
  readonly #fillers: Filler[] = [];
  readonly #results: [IValue] = [null];
  #kept: IValue | undefined;

  /** @param isKept whether its result is the stretch's own: nobody has it when the stretch is over */
  constructor(
    readonly step: HostStep,
    private readonly isKept: boolean,
  ) {
    this.#args = this.#values(step.inputs);
  }

  #values(inputs: readonly StepInput[]): IValue[] {
    const values = new Array<IValue>(inputs.length).fill(null);
    inputs.forEach((input, at) => this.#place(input, values, at));
    return values;
  }

  #place(input: StepInput, values: IValue[], at: number): void {
    switch (input.kind) {
      case 'constant':
        values[at] = input.value;
        return;
      case 'live-in':
        this.#fillers.push((liveIns) => (values[at] = liveIns ? liveIns[input.at] : null));
        return;
      case 'size':
        this.#fillers.push((liveIns) => (values[at] = liveIns && numberOfNow(input.of)));
        return;
      case 'view': {
        const view = new Tensor(nowhere, input.dtype, input.sizes, input.strides, input.offset);
        values[at] = view;
        this.#fillers.push((liveIns) => (view.storage = liveIns ? (liveIns[input.of] as Tensor).storage : nowhere));
        return;
      }
      case 'list':
        values[at] = new List(input.elementType, this.#values(input.items));
        return;
      case 'tuple':
        values[at] = new Tuple(this.#values(input.items), input.type);
        return;
    }
    return input satisfies never;
  }

  /** Its result; nothing where the arguments are not like those it was made ready for. Throws the operator's error. */
  run(liveIns: readonly IValue[], context: HostContext): readonly IValue[] {
    const fillers = this.#fillers;
    for (let at = 0; at < fillers.length; at++) fillers[at](liveIns);
    const result = this.step.call.run(this.#args, context, this.#kept);
    // What it worked with may be a view of something large.
    for (let at = 0; at < fillers.length; at++) fillers[at](null);
    if (result === undefined) return [];
    if (this.isKept) this.#kept = result;
    this.#results[0] = result;
    return this.#results;
  }
}
