import {
  DictType,
  ListType,
  StringType,
  TensorType,
  UnionType,
  unifyTypeList,
  unifyTypes,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { chooseDictCandidate, chooseListCandidate, refineContainerHint } from './container-type-hint.ts';
import type { Emitter } from './emitter.ts';
import { emitFor } from './loop-emission.ts';
import { NamedValue } from '../values/named-value.ts';
import type { DictComp, DictLiteral, ListComp, ListLiteral } from '../parser/tree.ts';

/** A container annotated as a Union is given that type by a cast, which no check follows. */
function castToUnion(e: Emitter, value: Value, typeHint: Type | undefined): Value {
  return typeHint instanceof UnionType ? e.graph.insertUncheckedCast(value, typeHint) : value;
}

export function emitListLiteral(e: Emitter, expr: ListLiteral, typeHint: Type | undefined): Value {
  const values = e.emitValues(expr.inputs, true);
  const { graph } = e;
  if (values.length === 0 && typeHint === undefined) {
    // An empty list that goes right into a call takes the type the call asks for; see eraseListLiterals.
    const node = graph.create('prim::EmptyListLiteral').setSourceRange(expr.range);
    return graph.insertNode(node).output().setType(new ListType(TensorType.get()));
  }
  const hint = refineContainerHint(typeHint, 'List', expr.range);
  if (hint.candidates.length > 0 && values.length === 0) {
    throw compileError(
      expr.range,
      `Cannot assign an empty list to a variable annotated to be type ${typeHint!.reprStr()} because there are multiple possible List type candidates in the Union annotation`,
    );
  }
  let elementType: Type = hint.refined instanceof ListType ? hint.refined.elementType : TensorType.get();
  if (values.length > 0) {
    const elementHint = hint.refined instanceof ListType ? elementType : undefined;
    const types = values.map((value) => value.type);
    const unified = unifyTypeList(types, [], true, elementHint)!;
    if (hint.candidates.length > 0) {
      elementType = chooseListCandidate(hint.candidates, typeHint!, unified, expr.range).elementType;
    } else if (hint.refined === undefined) {
      elementType = unified;
    } else if (!unified.isSubtypeOf(elementType)) {
      throw compileError(expr.range, listMismatch(hint.refined, unified));
    }
  }
  const node = graph.createList(elementType, values).setSourceRange(expr.range);
  return castToUnion(e, graph.insertNode(node).output(), typeHint);
}

function listMismatch(annotated: Type, unified: Type): string {
  return (
    `List type annotation \`${annotated.reprStr()}\` did not match the types of the given list elements, ` +
    `which were unified to ${unified.reprStr()}`
  );
}

export function emitDictLiteral(e: Emitter, expr: DictLiteral, typeHint: Type | undefined): Value {
  const keys: Value[] = [];
  const values: Value[] = [];
  expr.keys.forEach((key, index) => {
    keys.push(e.emitExpr(key));
    values.push(e.emitExpr(expr.values[index]!));
    if (index > 0 && keys[index - 1]!.type.kind !== keys[index]!.type.kind) {
      throw compileError(
        key.range,
        `Dict keys must contain only a single type. Expected: ${keys[index - 1]!.type.reprStr()} but found ${keys[index]!.type.reprStr()} instead`,
      );
    }
  });
  const type = dictLiteralType(expr, typeHint, keys, values);
  const node = e.graph.createDict(type.keyType, type.valueType, keys, values).setSourceRange(expr.range);
  return castToUnion(e, e.graph.insertNode(node).output(), typeHint);
}

function dictLiteralType(
  expr: DictLiteral,
  typeHint: Type | undefined,
  keys: readonly Value[],
  values: readonly Value[],
): DictType {
  const hint = refineContainerHint(typeHint, 'Dict', expr.range);
  if (values.length === 0) {
    if (hint.candidates.length > 0) {
      throw compileError(
        expr.range,
        `Cannot assign an empty dict to a variable annotated to be type ${typeHint!.reprStr()} because there are multiple possible Dict type candidates in the Union annotation`,
      );
    }
    return hint.refined instanceof DictType ? hint.refined : new DictType(StringType.get(), TensorType.get());
  }
  const keyType = keys[0]!.type;
  const valueTypes = values.map((value) => value.type);
  const valueType = unifyTypeList(valueTypes, [], true)!;
  if (hint.candidates.length > 0) {
    return chooseDictCandidate(hint.candidates, typeHint!, keyType, valueType, expr.range);
  }
  if (!(hint.refined instanceof DictType)) {
    return makeDictType(keyType, valueType, expr.range);
  }
  if (!hint.refined.keyType.equals(keyType)) {
    throw compileError(
      expr.range,
      `Type annotation was inferred to be ${hint.refined.reprStr()}but the type of keys given by the dict literal is ${keyType.reprStr()}`,
    );
  }
  if (!valueType.isSubtypeOf(hint.refined.valueType)) {
    throw compileError(
      expr.range,
      `Type annotation was inferred to be \`${hint.refined.reprStr()}\`, but the type of values given by the dict literal is ${valueType.reprStr()}`,
    );
  }
  return hint.refined;
}

function makeDictType(keyType: Type, valueType: Type, range: SourceRange): DictType {
  try {
    return new DictType(keyType, valueType);
  } catch (error) {
    throw compileError(range, (error as Error).message);
  }
}

/** `[f(x) for x in xs]`: an empty list, and a loop that appends to it, in a scope of its own. */
export function emitListComprehension(e: Emitter, expr: ListComp, typeHint: Type | undefined): Value {
  const { graph } = e;
  const { range } = expr;
  const node = graph.create('prim::ListConstruct').setSourceRange(range);
  const list = graph.insertNode(node).output().setType(new ListType(TensorType.get()));
  const hint = refineContainerHint(typeHint, 'List', range);
  let type = hint.refined as ListType | undefined;
  if (type !== undefined && hint.candidates.length === 0) {
    list.setType(type);
  }
  let isFirst = true;
  emitInComprehensionScope(e, range, () => {
    emitFor(e, [expr.target], [expr.iter], range, () => {
      const element = e.emitExpr(expr.elt);
      if (isFirst) {
        list.setType(new ListType(element.type));
        isFirst = false;
      }
      const known = (list.type as ListType).elementType;
      const elementHint = hint.candidates.length === 0 ? type?.elementType : undefined;
      const unified = unifyTypes(known, element.type, true, elementHint)!;
      if (hint.candidates.length > 0) {
        type = chooseListCandidate(hint.candidates, typeHint!, unified, range);
      } else if (type === undefined) {
        type = new ListType(unified);
      } else if (!unified.isSubtypeOf(type.elementType)) {
        throw compileError(range, listMismatch(type, unified));
      }
      list.setType(type);
      element.setType(type.elementType);
      const self = NamedValue.of(list, range, 'self');
      emitBuiltinCall(range, graph, 'aten::append', [NamedValue.of(element, range)], [], self);
    });
  });
  return list;
}

/** `{k(x): v(x) for x in xs}` */
export function emitDictComprehension(e: Emitter, expr: DictComp, typeHint: Type | undefined): Value {
  const { graph } = e;
  const { range } = expr;
  const node = graph.create('prim::DictConstruct').setSourceRange(range);
  const dict = graph.insertNode(node).output().setType(new DictType(StringType.get(), TensorType.get()));
  const hint = refineContainerHint(typeHint, 'Dict', range);
  const annotated = hint.candidates.length === 0 ? (hint.refined as DictType | undefined) : undefined;
  if (annotated !== undefined) {
    dict.setType(annotated);
  }
  let firstKey: Type | undefined;
  let firstValue: Type | undefined;
  emitInComprehensionScope(e, range, () => {
    emitFor(e, [expr.target], [expr.iter], range, () => {
      const key = e.emitExpr(expr.key);
      const value = e.emitExpr(expr.value);
      checkKey(key.type, firstKey, range);
      firstKey ??= key.type;
      firstValue ??= value.type;
      const unified = unifyTypes(firstValue, value.type, true, annotated?.valueType)!;
      let type = annotated;
      if (annotated !== undefined) {
        checkItem(annotated, key.type, value.type, range);
      } else if (hint.candidates.length > 0) {
        type = chooseDictCandidate(hint.candidates, typeHint!, key.type, unified, range);
      }
      type ??= makeDictType(key.type, unified, range);
      dict.setType(type);
      if (typeHint !== undefined) {
        key.setType(type.keyType);
        value.setType(type.valueType);
      }
      const args = [NamedValue.of(dict, range, 'self'), NamedValue.of(key, range), NamedValue.of(value, range)];
      emitBuiltinCall(range, graph, 'aten::_set_item', args);
    });
  });
  return castToUnion(e, dict, typeHint);
}

function checkKey(key: Type, first: Type | undefined, range: SourceRange): void {
  if (key instanceof UnionType) {
    throw compileError(
      range,
      `Dicts may only contain homogeneous keys, but the type of the first generated key was ${key.reprStr()}`,
    );
  }
  if (first !== undefined && !first.equals(key)) {
    throw compileError(
      range,
      `Dicts may only contain homogeneous keys. Expected dict comprehension to generate type ${first.reprStr()}, but got ${key.reprStr()}`,
    );
  }
}

function checkItem(annotated: DictType, key: Type, value: Type, range: SourceRange): void {
  let message = '';
  const check = (actual: Type, expected: Type, what: string): void => {
    const whyNot: string[] = [];
    if (!actual.isSubtypeOf(expected, whyNot)) {
      message +=
        `Dict type annotation \`${annotated.reprStr()}\` did not match the type of an actual ${what} type ` +
        `\`${actual.reprStr()}\`\n${whyNot.join('')}`;
    }
  };
  check(key, annotated.keyType, 'key');
  check(value, annotated.valueType, 'value');
  if (message !== '') {
    throw compileError(range, message);
  }
}

/** Variables of a comprehension are its own: what is assigned in it does not leave it. */
function emitInComprehensionScope(e: Emitter, range: SourceRange, body: () => void): void {
  const node = e.graph.insertNode(e.graph.create('prim::ComprehensionScope', [], 0).setSourceRange(range));
  e.withFrame(node.addBlock(), body);
}
