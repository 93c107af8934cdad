import {
  AnyType,
  Argument,
  Complex,
  FunctionSchema,
  nested,
  NoneType,
  type Block,
  type Graph,
  type GraphFunction,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitAssignment, emitAugAssignment } from './assignment-emission.ts';
import { ClosureValue } from '../values/callable-value.ts';
import { compilationCallStack, compileError, tooDeep } from '../compilation-error.ts';
import { emitCondition, emitIf, emitTernaryIf } from './condition-emission.ts';
import {
  emitDictComprehension,
  emitDictLiteral,
  emitListComprehension,
  emitListLiteral,
} from './container-emission.ts';
import type { CondValue, DefContext, Emitter, LoopStatus } from './emitter.ts';
import { Environment, isMeaningfulName } from './environment.ts';
import { emitForStatement, emitWhile, withLoopStatus } from './loop-emission.ts';
import { NamedValue, toValues } from '../values/named-value.ts';
import { emitBinaryOp, emitUnaryOp } from './operator-expression.ts';
import type { RefinementSet } from './refinement.ts';
import type { Resolver, Self } from '../resolver.ts';
import { ScriptTypeParser, type ConstantEvaluator } from '../script-type-parser.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { emitApplySpecialForm } from './special-form-emission.ts';
import { SpecialFormValue } from '../values/special-form-value.ts';
import { emitAssert, emitBreakOrContinue, emitDelete, emitRaise, emitReturn, emitWith } from './statement-emission.ts';
import { emitSubscript } from './subscript-emission.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import {
  kindToString,
  type Apply,
  type Attribute,
  type Const,
  type Def,
  type Expr,
  type Stmt,
} from '../parser/tree.ts';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * Emits a definition into the graph of `fn` and sets its schema (PyTorch: to_ir). Variables are still `prim::Load` and `prim::Store`, and
 * exits from blocks statements, until conversion to SSA.
 */
export function emitDefinition(
  def: Def,
  fn: GraphFunction,
  resolver: Resolver,
  self: Self | undefined,
  evaluate: ConstantEvaluator,
): void {
  new FunctionEmitter(fn, resolver, evaluate).emit(def, self);
}

class FunctionEmitter implements Emitter {
  readonly fn: GraphFunction;
  readonly graph: Graph;
  readonly typeParser: ScriptTypeParser;
  readonly exitBlocks = new Set<Block>();
  loopStatus: LoopStatus = 'not-in-loop';
  readonly #resolver: Resolver;
  readonly #defs: DefContext[] = [];
  readonly #materialized = new Map<string, Value>();
  #environment: Environment | undefined;
  #temporaries = 0;

  constructor(fn: GraphFunction, resolver: Resolver, evaluate: ConstantEvaluator) {
    this.fn = fn;
    this.graph = fn.graphBeingDefined;
    this.#resolver = resolver;
    this.typeParser = new ScriptTypeParser(resolver, evaluate);
  }

  get environment(): Environment {
    return this.#environment!;
  }

  get def(): DefContext {
    return this.#defs.at(-1)!;
  }

  emit(def: Def, self: Self | undefined): void {
    if (self !== undefined && def.decl.params.length === 0) {
      throw compileError(def.decl.range, 'methods must have a self argument');
    }
    this.withDef(this.graph.block, () => {
      this.fn.setSchema(this.#emitDef(def, self, this.graph.block));
    });
  }

  // ---- frames

  withFrame(block: Block, body: () => void): Environment {
    const previous = this.#environment;
    const environment = new Environment(this.fn, this.#resolver, block, previous);
    this.#environment = environment;
    this.graph.withInsertPoint(block, body);
    this.#environment = previous;
    return environment;
  }

  withDef(block: Block, body: () => void): void {
    this.#defs.push({ declaredReturnType: undefined, mergedReturnType: undefined });
    this.withFrame(block, body);
    this.#defs.pop();
  }

  createTempName(prefix: string): string {
    return `${prefix}${this.#temporaries++}`;
  }

  // ---- definitions

  #emitDef(def: Def, self: Self | undefined, block: Block): FunctionSchema {
    const schema = this.typeParser.parseSchemaFromDef(def, self !== undefined);
    this.def.declaredReturnType = schema.returns[0]?.type;
    const args = this.#emitFormalArguments(def, self, schema, block);
    this.emitStatements(def.statements);
    this.#finishReturns(def, block);
    const type = this.def.mergedReturnType!;
    // The value returned is only set when exits are transformed; till then the block is to have an output of the right type.
    block.registerOutput(this.graph.insertNode(this.graph.createUninitialized(type)).output());
    return new FunctionSchema(def.name.name, '', args, [new Argument('', type)]);
  }

  #emitFormalArguments(def: Def, self: Self | undefined, schema: FunctionSchema, block: Block): readonly Argument[] {
    const args: Argument[] = [];
    const { params } = def.decl;
    if (self !== undefined) {
      const { ident } = params[0]!;
      const input = block.addInput(isMeaningfulName(ident.name) ? ident.name : '');
      this.environment.setSugaredVar(ident.range, ident.name, self.makeSugared(input));
      args.push(new Argument(ident.name, input.type));
    }
    const stateType = self === undefined ? undefined : deriveStateType(def, schema, self);
    schema.arguments.forEach((argument, index) => {
      const { ident } = params[index + (self === undefined ? 0 : 1)]!;
      const typed = stateType === undefined ? argument : argument.cloneWithType(stateType);
      const input = block.addInput(isMeaningfulName(ident.name) ? ident.name : '').setType(typed.type);
      this.environment.setVar(ident.range, ident.name, input);
      args.push(typed);
    });
    return args;
  }

  /** A function that may run to its end returns None there. */
  #finishReturns(def: Def, block: Block): void {
    const declared = this.def.declaredReturnType;
    if (this.exitBlocks.has(block)) {
      // It always raises, unless a return was seen.
      this.def.mergedReturnType ??= declared ?? NoneType.get();
      return;
    }
    if (declared !== undefined && declared !== NoneType.get()) {
      throw compileError(
        def.range,
        'Function was not annotated as having type None, but does not return along all paths',
      );
    }
    emitReturn(this, { kind: 'return', range: def.range, expr: { kind: 'none', range: def.range } });
  }

  emitClosure(emitBody: (block: Block) => void): SugaredValue {
    const node = this.graph.insertNode(this.graph.create('prim::Closure', [], 1));
    node.output().setType(NoneType.get());
    const block = node.addBlock();
    withLoopStatus(this, 'not-in-loop', () => {
      this.withDef(block, () => emitBody(block));
    });
    return new ClosureValue(node.output());
  }

  #emitNestedDef(def: Def): void {
    const closure = this.emitClosure((block) => {
      this.#emitDef(def, undefined, block);
    });
    this.environment.setSugaredVar(def.name.range, def.name.name, closure);
  }

  // ---- statements

  emitStatements(statements: readonly Stmt[]): void {
    for (const stmt of statements) {
      compilationCallStack.updatePendingRange(stmt.range);
      nested(
        () => this.#emitStatement(stmt),
        () => tooDeep(stmt.range),
      );
      // What follows an exit is never reached.
      if (this.exitBlocks.has(this.environment.block)) {
        return;
      }
    }
  }

  #emitStatement(stmt: Stmt): void {
    switch (stmt.kind) {
      case 'if':
        return emitIf(this, stmt);
      case 'while':
        return emitWhile(this, stmt);
      case 'for':
        return emitForStatement(this, stmt);
      case 'assign':
        return emitAssignment(this, stmt);
      case 'aug-assign':
        return emitAugAssignment(this, stmt);
      case 'expr':
        this.emitSugaredExpr(stmt.expr);
        return undefined;
      case 'raise':
        return emitRaise(this, stmt);
      case 'assert':
        return emitAssert(this, stmt);
      case 'return':
        return emitReturn(this, stmt);
      case 'break':
      case 'continue':
        return emitBreakOrContinue(this, stmt);
      case 'pass':
        return undefined;
      case 'def':
        return this.#emitNestedDef(stmt);
      case 'delete':
        return emitDelete(this, stmt);
      case 'with':
        return emitWith(this, stmt);
      case 'global':
      case 'class':
      case 'python':
        throw compileError(stmt.range, `Unrecognized statement kind ${stmt.kind}`);
      default:
        return stmt satisfies never;
    }
  }

  insertRefinements(range: SourceRange, refinements: RefinementSet): void {
    for (const { name, type } of refinements.whenTrue) {
      const value = this.environment.getVar(name, range);
      this.environment.setVar(range, name, this.graph.insertUncheckedCast(value, type));
    }
  }

  // ---- expressions

  emitExpr(expr: Expr, typeHint?: Type): Value {
    compilationCallStack.updatePendingRange(expr.range);
    const value = this.emitSugaredExpr(expr, typeHint).asValue(expr.range, this.fn);
    // Any is the one supertype that types are not unified to by themselves.
    return typeHint === AnyType.get() && value.type !== AnyType.get()
      ? this.graph.insertUncheckedCast(value, typeHint)
      : value;
  }

  emitSugaredExpr(expr: Expr, typeHint?: Type): SugaredValue {
    return nested(
      () => this.#emitSugaredExpr(expr, typeHint),
      () => tooDeep(expr.range),
    );
  }

  #emitSugaredExpr(expr: Expr, typeHint: Type | undefined): SugaredValue {
    switch (expr.kind) {
      case 'var':
        return this.environment.getSugaredVar(expr.name.name, expr.range);
      case 'select':
        return this.emitSugaredExpr(expr.value).attr(expr.range, this.fn, expr.selector.name);
      case 'apply':
        return this.#emitApply(expr, typeHint);
      case 'subscript':
        return emitSubscript(this, expr, typeHint);
      default:
        return new SimpleValue(this.#emitSimpleExpr(expr, typeHint));
    }
  }

  #emitSimpleExpr(expr: Expr, typeHint: Type | undefined): Value {
    switch (expr.kind) {
      case 'binary':
        return ['and', 'or', 'is', 'is not'].includes(expr.op)
          ? this.emitCondExpr(expr).value
          : emitBinaryOp(this, expr);
      case 'unary':
        return expr.op === 'not' ? this.emitCondExpr(expr).value : emitUnaryOp(this, expr);
      case 'const':
        return this.#emitConst(expr);
      case 'bool':
        return this.graph.insertConstant(expr.value, expr.range);
      case 'none':
        return this.graph.insertConstant(null, expr.range);
      case 'string':
        return this.graph.insertConstant(expr.text, expr.range);
      case 'ternary':
        return emitTernaryIf(this, expr, typeHint);
      case 'list':
        return emitListLiteral(this, expr, typeHint);
      case 'tuple': {
        const values = this.emitValues(expr.inputs, true);
        return this.graph.insertNode(this.graph.createTuple(values).setSourceRange(expr.range)).output();
      }
      case 'dict':
        return emitDictLiteral(this, expr, typeHint);
      case 'list-comp':
        return emitListComprehension(this, expr, typeHint);
      case 'dict-comp':
        return emitDictComprehension(this, expr, typeHint);
      case 'starred':
        throw compileError(expr.range, 'Unexpected starred expansion. File a bug report');
      default:
        throw compileError(expr.range, `Cannot emit expr for: (${kindToString(expr)})\n`);
    }
  }

  emitCondExpr(expr: Expr): CondValue {
    return nested(
      () => emitCondition(this, expr),
      () => tooDeep(expr.range),
    );
  }

  #emitApply(apply: Apply, typeHint: Type | undefined): SugaredValue {
    const callee = this.emitSugaredExpr(apply.callee);
    if (callee instanceof SpecialFormValue) {
      return this.emitSpecialForm(callee.form, callee, apply, typeHint);
    }
    const args = this.emitArguments(apply.inputs, true);
    const kwargs = this.emitKeywordArguments(apply.attributes);
    compilationCallStack.updatePendingRange(apply.range);
    return callee.call({ range: apply.callee.range, fn: this.fn, args, kwargs });
  }

  emitSpecialForm(form: string, callee: SugaredValue, apply: Apply, typeHint?: Type): SugaredValue {
    return emitApplySpecialForm(this, form, callee, apply, typeHint);
  }

  emitArguments(exprs: readonly Expr[], unpackStarred: boolean): NamedValue[] {
    return exprs.flatMap((expr) => {
      if (!unpackStarred || expr.kind !== 'starred') {
        return [NamedValue.of(this.emitExpr(expr), expr.range)];
      }
      const elements = this.emitSugaredExpr(expr.expr).asTuple(expr.range, this.fn);
      return elements.map((element) => NamedValue.of(element.asValue(expr.range, this.fn), expr.range));
    });
  }

  emitValues(exprs: readonly Expr[], unpackStarred: boolean): Value[] {
    return toValues(this.graph, this.emitArguments(exprs, unpackStarred));
  }

  emitKeywordArguments(attributes: readonly Attribute[]): NamedValue[] {
    return attributes.map((attribute) =>
      NamedValue.of(this.emitExpr(attribute.value), attribute.range, attribute.name.name),
    );
  }

  // ---- constants

  #emitConst(expr: Const): Value {
    const { value } = expr;
    if (typeof value === 'bigint') {
      if (value > INT64_MAX) {
        throw compileError(expr.range, 'Integral constant out of range (must fit in a signed 64 bit integer)');
      }
      return this.materializeInt(value, expr.range);
    }
    const key =
      value instanceof Complex ? `complex ${value.re} ${value.im}` : `float ${Object.is(value, -0) ? '-0' : value}`;
    return this.#materialize(key, value, expr.range);
  }

  materializeInt(value: bigint, range: SourceRange): Value {
    return this.#materialize(`int ${value}`, value, range);
  }

  #materialize(key: string, value: bigint | number | Complex, range: SourceRange): Value {
    let constant = this.#materialized.get(key);
    if (constant === undefined) {
      const front = this.graph.block.paramNode.next;
      constant = this.graph.withInsertPoint(front, () => this.graph.insertConstant(value, range));
      this.#materialized.set(key, constant);
    }
    return constant;
  }
}

/** `__setstate__` without annotations takes what `__getstate__` gives, which may hold submodules. */
function deriveStateType(def: Def, schema: FunctionSchema, self: Self): Type | undefined {
  const isUntyped = schema.arguments.every((argument) => argument.isInferredType);
  if (def.name.name !== '__setstate__' || !isUntyped) {
    return undefined;
  }
  if (def.decl.params.length !== 2) {
    throw compileError(def.range, `Expected 2 arguments for \`__setstate__\`, got: ${def.decl.params.length}`);
  }
  const getstate = self.classType.findMethod('__getstate__');
  if (getstate === undefined) {
    throw compileError(
      def.range,
      '`__setstate__` defined but not `__getstate__`. You must have both defined on a ScriptModule to customize serialization.\n' +
        'Did you forget to use `@torch.jit.export`?',
    );
  }
  return getstate.schema.returns[0]!.type;
}
