import { cast, exprTypeOf, type Expr, type Store } from '@cresset/tensorexpr';
import { i32, i32x4, i64, when, type Code } from '../code.ts';
import { elementShift } from './elements.ts';
import { NeedsSingleSteps, type ExpressionWriter } from './expression-writer.ts';
import { hasLoad, isOne, strideOf } from './index-steps.ts';
import { combination } from './reductions.ts';
import { valueType, type Scope } from './scope.ts';

/**
 * Writes the stores of a point: what they store is known before any of them is made, since it may be read where another one writes. What a condition decides
 * about is worked out where it holds, so those are made first.
 */
export function writeStores(writer: ExpressionWriter, stores: readonly Store[], scope: Scope): void {
  const plain = stores.filter(({ guard }) => !guard);
  for (const { value } of plain) writer.value(value, scope);
  for (const store of stores) if (store.guard) writeStore(writer, store, scope);
  for (const store of plain) writeStore(writer, store, scope);
}

/** Writes a store. Where its place was loaded, it is looked at: what lies outside the tensor is left out. */
function writeStore(writer: ExpressionWriter, store: Store, scope: Scope): void {
  const { guard, offset } = store;
  if (guard) {
    if (writer.differs(guard, scope)) throw new NeedsSingleSteps(scope.lanes!.axis);
    writer.guarded(writer.valueIn('scalar', guard, scope), scope, (inner) =>
      writeStore(writer, { ...store, guard: undefined }, inner),
    );
    return;
  }
  if (!hasLoad(offset)) {
    writeElements(writer, store, scope);
    return;
  }
  if (writer.differs(offset, scope)) throw new NeedsSingleSteps(scope.lanes!.axis);
  const count = i32.shiftRightUnsigned(writer.byteLength(store), i32.const(elementShift(store.operand.dtype)));
  writer.guarded(i32.ltUnsigned(writer.valueIn('scalar', offset, scope), count), scope, (inner) =>
    writeElements(writer, store, inner),
  );
}

/** As `writeStore`, of a place that no condition decides about. */
export function writeElements(writer: ExpressionWriter, store: Store, scope: Scope): void {
  const value = cast(exprTypeOf(store.operand.dtype), store.value);
  writer.value(value, scope);
  writer.groups.each(writer.groupsOf(store.offset, scope), () => writeGroup(writer, store, value, scope));
}

/** Writes what one group of lanes stores. */
function writeGroup(writer: ExpressionWriter, store: Store, value: Expr, scope: Scope): void {
  const { operand, offset, combine } = store;
  const { dtype } = operand;
  const type = exprTypeOf(dtype);
  const shift = elementShift(dtype);
  const { elements, floats } = writer;
  const at = (index: Code): Code => i32.add(writer.address(store), shift === 0 ? index : i32.shl(index, shift));
  const keep = (code: Code): Code => writer.keep(scope, 'v128', code);
  if (!writer.differs(offset, scope)) {
    if (writer.differs(value, scope)) throw new NeedsSingleSteps(scope.lanes!.axis);
    const address = writer.keep(scope, 'i32', at(writer.valueIn('scalar', offset, scope)));
    const own = writer.value(value, scope);
    if (!combine) {
      scope.code.push(elements.storeOne(dtype, address, own, keep));
      return;
    }
    const before = elements.one(dtype, type, address, keep);
    const form = own.form;
    const earlier = writer.keep(scope, valueType(type, form), before.code);
    const joined = writer.keep(
      scope,
      valueType(type, form),
      combination(combine, type, form, floats)(earlier, own.code),
    );
    scope.code.push(elements.storeOne(dtype, address, { form, code: joined }, keep));
    return;
  }
  const { lanes } = scope;
  const stride = strideOf(offset, lanes!.axis, writer.freeAxes);
  if (combine || (!stride && type === 'i64')) throw new NeedsSingleSteps(lanes!.axis);
  if (!stride) {
    const { lanes: indices, areBeside } = writer.placesOf(offset, scope);
    const own = keep(writer.valueIn('lanes', value, scope));
    const [side, apart] = [scope.openGuard(), scope.openGuard()];
    const keepIn =
      (inner: Scope) =>
      (code: Code): Code =>
        writer.keep(inner, 'v128', code);
    side.code.push(elements.storeSide(dtype, at(indices[0]), own, keepIn(side)));
    apart.code.push(elements.scatter(dtype, indices.map(at), own, keepIn(apart)));
    scope.code.push(when(areBeside, side.code, apart.code));
    return;
  }
  const isSide = isOne(stride);
  if (isSide && type !== 'i64') {
    const own = keep(writer.valueIn('lanes', value, scope));
    scope.code.push(elements.storeSide(dtype, writer.firstAddress(store, scope), own, keep));
    return;
  }
  const first = writer.first(offset, scope);
  const step = isSide ? i32.const(1) : writer.valueIn('scalar', stride, scope);
  const places = (): Code[] =>
    Array.from({ length: floats.lanes }, (_, lane) =>
      writer.keep(scope, 'i32', at(lane === 0 ? first : i32.add(first, i32.mul(step, i32.const(lane))))),
    );
  if (type === 'i64') {
    const { form, code } = writer.value(value, scope);
    const one = (lane: number): Code => (form === 'lanes' ? i64.ofInteger(i32x4.extract(code, lane)) : code);
    scope.code.push(
      places().map((place, lane) => elements.storeOne(dtype, place, { form: 'scalar', code: one(lane) }, keep)),
    );
    return;
  }
  const own = keep(writer.valueIn('lanes', value, scope));
  scope.code.push(elements.scatter(dtype, places(), own, keep));
}
