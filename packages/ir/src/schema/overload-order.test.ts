import { expect, it } from 'vitest';
import { Operator } from './operator-registry.ts';
import { sortOverloads } from './overload-order.ts';

/** The overload names of schemas, in order; those of one rank stay as they are given. */
function order(...schemas: readonly string[]): readonly string[] {
  const operators = schemas.map((schema) => new Operator({ schema }));
  return sortOverloads(operators).map(({ overloadName }) => overloadName);
}

it('the plain form comes first, then tensors, numbers, later ones, scalars, anything', () => {
  expect(
    order(
      'aten::f.t(t[] self) -> int',
      'aten::f.anything(Any[] self) -> Tensor',
      'aten::f.list(list self) -> Tensor',
      'aten::f.Scalar(Scalar? a, int b) -> Scalar',
      'aten::f.dims(Tensor self, int[]? dim=None) -> Tensor',
      'aten::f.int(int a, int b) -> int',
      'aten::f.Tensor(Tensor self, Scalar other) -> Tensor',
      'aten::f(Tensor self) -> Tensor',
    ),
  ).toEqual(['', 'Tensor', 't', 'int', 'dims', 'Scalar', 'anything', 'list']);
});

it('a tensor is one where it is annotated, and among several results', () => {
  expect(
    order(
      'aten::f.no(Tensor(a)? self, Tensor[] x) -> Tensor',
      'aten::f.list(Tensor(a) self) -> Tensor(a)[]',
      'aten::f.out(Tensor self, *, Tensor(a!) max, Tensor(b!) at) -> (Tensor(a!) values, Tensor(b!) indices)',
      'aten::f.spaced( Tensor self , int n ) ->  Tensor',
    ),
  ).toEqual(['out', 'spaced', 'no', 'list']);
});

it('what stands in brackets of a type is no argument', () => {
  expect(order('aten::f.Dict(Dict(str, Any) self) -> int', 'aten::f.int(int self) -> int')).toEqual(['Dict', 'int']);
});

it('asks for no schema to be right before a call is matched against it', () => {
  expect(order('aten::f.unknown(Oops self) -> int', 'aten::f(Tensor self) -> Tensor')).toEqual(['', 'unknown']);
});
