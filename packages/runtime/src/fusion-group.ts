import type { Graph } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { dispatch, type Invocation } from './dispatch.ts';
import type { Execution } from './execution.ts';
import { constantValue } from './constant-value.ts';
import { bindOperator, type OperatorBinding } from './operator-binding.ts';

/** An operator of a group; operands are positions in a list of values: the group's inputs, constants, results so far. */
interface Member {
  readonly binding: OperatorBinding;
  readonly inputs: readonly number[];
  readonly output: number;
}

/** Operators that FuseGraph put together, as the interpreter runs them. */
export class FusionGroup {
  readonly label: string;
  readonly #members: readonly Member[];
  readonly #constants: readonly (readonly [position: number, value: IValue])[];
  readonly #outputs: readonly number[];
  readonly #valueCount: number;

  constructor(readonly graph: Graph) {
    const positions = new Map(graph.inputs.map((input, index) => [input, index]));
    const constants: [number, IValue][] = [];
    const members: Member[] = [];
    for (const node of graph.nodes()) {
      const position = positions.size;
      positions.set(node.output(), position);
      if (node.kind === 'prim::Constant') constants.push([position, constantValue(node)]);
      else {
        const inputs = node.inputs.map((input) => positions.get(input)!);
        members.push({ binding: bindOperator(node), inputs, output: position });
      }
    }
    this.#constants = constants;
    this.#members = members;
    this.#outputs = graph.outputs.map((output) => positions.get(output)!);
    this.#valueCount = positions.size;
    this.label = members.map(({ binding }) => binding.name.replace(/^aten::|\..*$/g, '')).join('+');
  }

  run(args: readonly IValue[], execution: Execution): Invocation {
    const values = new Array<IValue>(this.#valueCount);
    args.forEach((value, index) => (values[index] = value));
    for (const [position, value] of this.#constants) values[position] = value;
    return this.#runOneByOne(values, execution, 0);
  }

  #runOneByOne(values: IValue[], execution: Execution, from: number): Invocation {
    for (let at = from; at < this.#members.length; at++) {
      const { binding, inputs, output } = this.#members[at];
      const results = dispatch(
        binding,
        inputs.map((input) => values[input]),
        execution,
      );
      if (results instanceof Promise) {
        return results.then(([value]) => {
          values[output] = value;
          return this.#runOneByOne(values, execution, at + 1);
        });
      }
      [values[output]] = results;
    }
    return this.#outputs.map((output) => values[output]);
  }
}
