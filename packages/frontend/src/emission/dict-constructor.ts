import { DictType, ErrorReport, StringType, TensorType, UnionType, type Type, type Value } from '@cresset/ir';
import { toByteString } from '@cresset/tensor';
import { emitBuiltinCall } from './builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { checkInputCount } from './condition-emission.ts';
import { refineContainerHint } from './container-type-hint.ts';
import type { Emitter } from './emitter.ts';
import { NamedValue } from '../values/named-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { makeTuple, makeVar, type Apply, type Expr } from '../parser/tree.ts';

/**
 * `dict()`, `dict(x)`, `dict([(k, v), …], a=1)`: a copy of a dict, or a comprehension over pairs (PyTorch:
 * emitApplySpecialFormForDict).
 */
export function emitDictConstructor(e: Emitter, original: Apply, typeHint: Type | undefined): SugaredValue {
  let apply = original;
  const { range } = apply;
  let hint = typeHint;
  if (typeHint !== undefined && !(typeHint instanceof DictType)) {
    const { refined, candidates } = refineContainerHint(typeHint, 'Dict', range, true);
    if (candidates.length > 0) {
      throw compileError(
        range,
        `There are multiple candidate Dict types in the Union type annotation \`${typeHint.reprStr()}\`, and full type inference is not yet supported for the \`dict()\` constructor.`,
      );
    }
    hint = refined;
  }
  const copied = emitDictCopy(e, apply, hint);
  if (copied !== undefined) {
    addKeywords(e, apply, copied);
    return new SimpleValue(typeHint instanceof UnionType ? e.graph.insertUncheckedCast(copied, typeHint) : copied);
  }
  if (isEmptyContainer(apply)) {
    apply = { ...apply, inputs: [] };
  }
  if (apply.inputs.length === 0 && apply.attributes.length === 0) {
    return emitEmptyDict(e, apply, hint);
  }
  apply = withPairs(apply);
  checkInputCount(apply, 1);
  const dict = emitFromPairs(e, apply, hint);
  addKeywords(e, apply, dict);
  return new SimpleValue(dict);
}

function emitDictCopy(e: Emitter, apply: Apply, hint: Type | undefined): Value | undefined {
  const [input] = apply.inputs;
  // A list of pairs has a case of its own, and would be emitted twice.
  if (input === undefined || input.kind === 'list') {
    return undefined;
  }
  let value: SugaredValue;
  try {
    value = e.emitSugaredExpr(input, hint);
  } catch (error) {
    if (!(error instanceof ErrorReport)) {
      throw error;
    }
    value = e.emitSugaredExpr(input);
  }
  return value instanceof SimpleValue && value.value.type instanceof DictType
    ? emitBuiltinCall(apply.range, e.graph, 'aten::dict', [NamedValue.of(value.value, apply.range)])
    : undefined;
}

function isEmptyContainer(apply: Apply): boolean {
  const [input] = apply.inputs;
  return (input?.kind === 'dict' && input.keys.length === 0) || (input?.kind === 'list' && input.inputs.length === 0);
}

function emitEmptyDict(e: Emitter, apply: Apply, hint: Type | undefined): SugaredValue {
  const type = hint ?? new DictType(StringType.get(), TensorType.get());
  if (!(type instanceof DictType)) {
    throw compileError(
      apply.range,
      `Expected a type annotation of Dict for dict constructor dict(), got ${type.str()}`,
    );
  }
  const node = e.graph.createDict(type.keyType, type.valueType, [], []).setSourceRange(apply.range);
  return new SimpleValue(e.graph.insertNode(node).output());
}

/** Pairs and keywords as one list of pairs. */
function withPairs(apply: Apply): Apply {
  const { range } = apply;
  const [input] = apply.inputs;
  if (input !== undefined && input.kind !== 'list') {
    return apply;
  }
  const keywords = apply.attributes.map((attribute) => {
    const key: Expr = { kind: 'string', range, text: toByteString(attribute.name.name) };
    return makeTuple(range, [key, attribute.value]);
  });
  const pairs: Expr = { kind: 'list', range, inputs: [...(input?.inputs ?? []), ...keywords] };
  return { ...apply, inputs: [pairs], attributes: [] };
}

function emitFromPairs(e: Emitter, apply: Apply, hint: Type | undefined): Value {
  const { range } = apply;
  const iterName = e.createTempName('$_iter');
  const key = makeVar(range, e.createTempName('$_key'));
  const value = makeVar(range, e.createTempName('$_value'));
  e.environment.setSugaredVar(range, iterName, e.emitSugaredExpr(apply.inputs[0]!));
  const target = makeTuple(range, [key, value]);
  return e.emitExpr({ kind: 'dict-comp', range, key, value, target, iter: makeVar(range, iterName) }, hint);
}

function addKeywords(e: Emitter, apply: Apply, dict: Value): void {
  const type = dict.type as DictType;
  for (const attribute of apply.attributes) {
    const key = e.graph.insertConstant(toByteString(attribute.name.name), attribute.range);
    const value = e.emitExpr(attribute.value);
    let message = '';
    if (!type.keyType.equals(key.type)) {
      message += `Generated key type ${key.type.reprStr()} did not match the annotated key type, which was ${type.keyType.reprStr()}\n`;
    }
    const whyNot: string[] = [];
    if (!value.type.isSubtypeOf(type.valueType, whyNot)) {
      message += `Generated value type ${value.type.reprStr()} did not match the annotated value type, which was ${type.valueType.reprStr()}\n${whyNot.join('')}`;
    }
    if (message !== '') {
      throw compileError(apply.range, message);
    }
    const args = [dict, key, value].map((item) => NamedValue.of(item, attribute.range));
    emitBuiltinCall(attribute.range, e.graph, 'aten::_set_item', args);
  }
}
