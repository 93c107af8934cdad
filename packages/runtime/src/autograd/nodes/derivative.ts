import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, Source, type Graph } from '@cresset/ir';
import { boxingOf, OperatorError, type OperatorRow } from '@cresset/operators';
import { derivativeHelpers, derivativesOf, type Signature } from '@cresset/operators/parts/derivatives';
import { remembered } from '@cresset/tensorexpr';
import type { Code } from '../../interpreter/code/code.ts';
import { compositionText, formulaTexts, type FormulaText } from './formula-text.ts';
import { tapeCode } from '../tape-code.ts';

/** How the gradients of some inputs of an operator are worked out. */
export class Formula {
  #code: Code | null = null;

  constructor(
    private readonly name: string,
    private readonly text: Omit<FormulaText, 'source'>,
    private readonly graph: () => Graph,
  ) {}

  get parameters(): readonly string[] {
    return this.text.parameters;
  }

  get inputs(): readonly string[] {
    return this.text.inputs;
  }

  /** PyTorch's error, where it does not have these gradients either. */
  get refusal(): string | null {
    return this.text.refusal;
  }

  /** Compiled when it is first asked for. Throws PyTorch's error where there is no such gradient. */
  get code(): Code {
    if (this.refusal !== null) throw new OperatorError(this.refusal);
    return (this.#code ??= tapeCode.ofGraph(this.graph(), this.name).code());
  }
}

/** An operator's derivatives. */
export interface Derivative {
  readonly signature: Signature;
  readonly formulas: readonly Formula[];
  /** What has to be kept of a call, names of inputs and results, and the gradients that are taken. */
  readonly saved: ReadonlySet<string>;
  /** An input by which the gradients do not change, though they have gradients by it: of zeros. */
  readonly straightIn: string | null;
  /** Inputs of which every gradient is known to come, whether it changes with them or not. */
  readonly takenTogether: readonly string[];
  /** The operator in terms of others, where its gradients are those of that. */
  readonly composition: (() => Graph) | null;
}

/** The derivatives of a row that is not derived from another one; null where there are none in the table. */
export const derivativeOf = remembered(find);

function find(row: OperatorRow): Derivative | null {
  const { signature } = boxingOf(row);
  const { name, overload } = signature;
  const { backward } = row;
  if (backward) {
    const text = { parameters: backward.parameters, inputs: backward.inputs, refusal: null };
    const formulas = [formulaOf(name, text, () => backward.graph)];
    return {
      composition: null,
      straightIn: null,
      takenTogether: [],
      signature,
      formulas,
      saved: new Set(backward.parameters),
    };
  }
  const formulas = derivativesOf(name, overload);
  if (!formulas) return null;
  const texts = formulaTexts(signature, formulas, derivativeHelpers);
  const composed = formulas['='];
  let graph: Graph | undefined;
  return {
    composition:
      composed === undefined
        ? null
        : () => (graph ??= compile(name, compositionText(signature, composed, derivativeHelpers))),
    straightIn: formulas['~'] ?? null,
    takenTogether: formulas['*']?.split(', ') ?? [],
    signature,
    formulas: texts.map((text) => formulaOf(name, text, () => compile(`derivative of ${name}`, text.source))),
    saved: new Set(texts.flatMap(({ parameters }) => parameters)),
  };
}

const formulaOf = (operator: string, text: Omit<FormulaText, 'source'>, graph: () => Graph): Formula =>
  new Formula(`derivative of ${operator}`, text, graph);

function compile(name: string, text: string): Graph {
  const unit = new CompilationUnit();
  const definitions = parseProgram(new Source(text, `<${name}>`), 'python');
  const [main] = declareFunctions(unit, definitions as readonly Def[], { resolver: NATIVE_RESOLVER });
  return main.graph;
}
