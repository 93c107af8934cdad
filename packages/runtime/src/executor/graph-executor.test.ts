import { ClassType, IntType, parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { ScriptObject } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { Execution } from '../run/execution.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { RuntimeContext } from '../run/runtime-context.ts';

beforeAll(registerAllOperators);

const spec = { maxFusedTensors: 0, gradEnabled: false };

function counterModule(): { object: ScriptObject; executor: GraphExecutor; run: (n: bigint) => unknown } {
  const type = new ClassType('__torch__.Scaled', { isModule: true });
  type.addAttribute('scale', IntType.get());
  type.addAttribute('calls', IntType.get());
  const object = new ScriptObject(type, [3n, 0n]);
  const graph = parseIr(
    `
graph(%self : __torch__.Scaled, %n : int):
  %one : int = prim::Constant[value=1]()
  %calls : int = prim::GetAttr[name="calls"](%self)
  %next : int = aten::add(%calls, %one)
   = prim::SetAttr[name="calls"](%self, %next)
  %scale : int = prim::GetAttr[name="scale"](%self)
  %r : int = aten::mul(%n, %scale)
  return (%r)
`,
    { resolveClass: () => type },
  );
  const executors = new ExecutorCache(() => spec);
  const executor = new GraphExecutor('forward', graph, executors);
  const run = (n: bigint): unknown => {
    const { code } = executor.planFor(spec, object);
    const state = new InterpreterState(new Execution(new RuntimeContext()), (fn) => executors.ofFunction(fn));
    return (state.run(code, [object, n]) as readonly unknown[])[0];
  };
  return { object, executor, run };
}

describe('GraphExecutor', () => {
  it('works attributes into the plan of a module and follows them when they change', () => {
    const { object, executor, run } = counterModule();
    expect(run(5n)).toBe(15n);
    const first = executor.planFor(spec, object);
    expect(first.graph.toString({ sourceRanges: false })).not.toContain('name="scale"');
    expect(executor.planFor(spec, object)).toBe(first);

    object.setAttribute('scale', 4n);
    expect(run(5n)).toBe(20n);
    const second = executor.planFor(spec, object);
    expect(second).not.toBe(first);
    // Once seen to change, it is asked for on every run.
    expect(second.graph.toString({ sourceRanges: false })).toContain('name="scale"');
    object.setAttribute('scale', 5n);
    expect(run(5n)).toBe(25n);
    expect(executor.planFor(spec, object)).toBe(second);
  });

  it('leaves attributes alone that the program sets', () => {
    const { object, run } = counterModule();
    run(1n);
    run(1n);
    expect(object.getAttribute('calls')).toBe(2n);
  });

  it('makes a plan of its own for another object', () => {
    const { object, executor, run } = counterModule();
    run(1n);
    const other = new ScriptObject(object.type, [7n, 0n]);
    expect(executor.planFor(spec, other)).not.toBe(executor.planFor(spec, object));
  });
});
