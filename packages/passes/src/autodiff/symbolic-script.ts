import {
  declareFunctions,
  FunctionValue,
  NATIVE_RESOLVER,
  parseProgram,
  type Def,
  type Resolver,
} from '@cresset/frontend';
import { CompilationUnit, invariant, Source, type FunctionSchema, type Graph, type GraphFunction } from '@cresset/ir';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { type Formula, type Gradients } from './formulas/formula.ts';
import { formulas } from './formulas/index.ts';
import { helperFunctions } from './formulas/helpers.ts';

/**
 * The derivative of an operator as graphs (PyTorch: GradientPair). `forward` takes the operator's arguments and gives a tuple of its results
 * and, last, the context: a tuple of what `backward` needs. `backward` takes the context and a gradient for each result, and gives that
 * of the one argument, or a tuple of those of all arguments, None where there is none. Both are for copying: nobody changes them.
 */
export interface GradientPair {
  readonly forward: Graph;
  readonly backward: Graph;
}

/** Formulas that were compiled, by the operator's full name. */
const compiled = new Map<string, GradientPair>();
let helpers: CompilationUnit | undefined;

/** The formula for an operator's derivative that PyTorch's JIT has, compiled when it is first asked for (PyTorch: gradientInfoForSchema). */
export function gradientPairOf(schema: FunctionSchema): GradientPair | undefined {
  const name = formulaName(schema);
  const formula = name === undefined ? undefined : formulas[name];
  if (name === undefined || formula === undefined) return undefined;
  let pair = compiled.get(name);
  if (!pair) compiled.set(name, (pair = compile(schema, formula)));
  return pair;
}

/** Whether there is such a formula (PyTorch: hasGradientInfoForSchema). */
export function hasGradientPair(schema: FunctionSchema): boolean {
  const name = formulaName(schema);
  return name !== undefined && Object.hasOwn(formulas, name);
}

function formulaName(schema: FunctionSchema): string | undefined {
  const { operatorName } = schema;
  return operatorName.startsWith('aten::') ? operatorName.slice('aten::'.length) : undefined;
}

function compile(schema: FunctionSchema, formula: Formula): GradientPair {
  const text = typeof formula === 'string' ? formula : scriptOf(schema, formula);
  const unit = new CompilationUnit();
  const source = new Source(text, `<derivative of ${schema.name}>`);
  const [fn] = declareFunctions(unit, parseProgram(source, 'serialized') as readonly Def[], { resolver });
  return split(fn);
}

const resolver: Resolver = {
  resolveValue: (name, fn, range) =>
    name.startsWith('AD_') ? new FunctionValue(helper(name)) : NATIVE_RESOLVER.resolveValue(name, fn, range),
  resolveType: (name, range) => NATIVE_RESOLVER.resolveType(name, range),
};

function helper(name: string): GraphFunction {
  if (!helpers) {
    helpers = new CompilationUnit();
    const definitions = parseProgram(new Source(helperFunctions, '<helpers of derivatives>'), 'serialized');
    declareFunctions(helpers, definitions as readonly Def[], { resolver: NATIVE_RESOLVER });
  }
  return helpers.getFunction(name);
}

/** The function in TorchScript that gradients are short for: the operator, and a closure that gives them. */
function scriptOf(schema: FunctionSchema, { gradients, sizes }: Gradients): string {
  const name = schema.name.slice('aten::'.length);
  const names = schema.arguments.map((argument) => argument.name);
  const parameters = schema.arguments.map((argument) => `${argument.name}: ${argument.type.annotationStr()}`);
  const args = schema.arguments.map((argument) => (argument.kwargOnly ? `${argument.name}=` : '') + argument.name);
  const known = names.filter((each) => Object.hasOwn(gradients, each));
  const lines = [`def ${name}(${parameters.join(', ')}):`, `    result = torch.${name}(${args.join(', ')})`];
  if (sizes === 'in pairs') {
    const kept = known.map((each) => `${each}_size`).join(', ');
    lines.push(`    ${kept} = AD_sizes_if_not_equal(${known.join(', ')}, result)`);
  } else if (sizes) {
    for (const each of known) {
      lines.push(`    ${each}_size = torch._size_if_not_equal(${each}.size(), result.size())`);
    }
  }
  lines.push('    def backward(grad):');
  for (const [target, value] of Object.entries(gradients)) {
    const isLocal = !names.includes(target);
    const summed = sizes && !isLocal ? `(${value})._grad_sum_to_size(${target}_size)` : value;
    lines.push(`        ${isLocal ? target : `grad_${target}`} = ${summed}`);
  }
  const returned = names.map((each) => (known.includes(each) ? `grad_${each}` : 'None'));
  lines.push(`        return ${returned.join(', ')}`, '    return result, backward', '');
  return lines.join('\n');
}

/** Takes the closure out of what a formula returns, and leaves its context (PyTorch: loadModule, extractClosure). */
function split(fn: GraphFunction): GradientPair {
  const forward = fn.graph.copy();
  const returned = forward.outputs[0].node;
  const pair = returned.inputs.at(-1)?.node;
  const closure = pair?.inputs[0]?.node;
  invariant(
    returned.kind === 'prim::TupleConstruct' &&
      pair?.kind === 'prim::TupleConstruct' &&
      closure?.kind === 'prim::Closure',
    `a derivative returns results and a function: ${fn.name}`,
  );
  const backward = closure.g('Subgraph');
  const results = forward.appendNode(forward.createTuple([...returned.inputs.slice(0, -1), pair.input(1)]));
  forward.eraseOutput(0);
  forward.registerOutput(results.output());
  eliminateDeadCode(forward);
  return { forward, backward };
}
