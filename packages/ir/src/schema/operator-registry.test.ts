import { expect, it } from 'vitest';
import { OperatorRegistry, type OperatorSource } from './operator-registry.ts';

const asked: string[] = [];

function sourceOf(...schemas: readonly string[]): OperatorSource {
  const nameOf = (schema: string): string => /^[\w:]+/.exec(schema)![0];
  return {
    names: () => schemas.map(nameOf),
    *declarationsOf(name) {
      asked.push(name);
      for (const schema of schemas) if (nameOf(schema) === name) yield { schema, row: schemas };
    },
  };
}

const textsOf = (registry: OperatorRegistry, name: string): readonly string[] =>
  registry.operatorsFor(name).map(({ schemaText }) => schemaText);

it('a source is asked for a name once, and one that comes later too', () => {
  const registry = new OperatorRegistry();
  registry.addSource(sourceOf('t::f(Tensor x) -> Tensor', 't::g(Tensor x) -> Tensor'));
  asked.length = 0;
  expect(textsOf(registry, 't::f')).toEqual(['t::f(Tensor x) -> Tensor']);
  expect(registry.operatorsFor('t::f')).toBe(registry.operatorsFor('t::f'));
  expect(textsOf(registry, 't::h')).toEqual([]);
  expect(asked).toEqual(['t::f', 't::h']);
  const [f] = registry.operatorsFor('t::f');
  registry.addSource(sourceOf('t::f.more(Tensor x, int n) -> Tensor', 't::h(int n) -> int'));
  expect(textsOf(registry, 't::h')).toEqual(['t::h(int n) -> int']);
  expect(textsOf(registry, 't::f')).toHaveLength(2);
  expect(registry.operatorsFor('t::f')).toContain(f);
  expect([...registry.names()]).toEqual(['t::f', 't::g', 't::h']);
});

it('what is registered by itself takes the place of what a source has', () => {
  const registry = new OperatorRegistry();
  registry.addSource(sourceOf('t::f(Tensor x) -> Tensor', 't::f.other(int x) -> int'));
  registry.register([{ schema: 't::f(Tensor y) -> Tensor' }]);
  expect(textsOf(registry, 't::f')).toEqual(['t::f(Tensor y) -> Tensor', 't::f.other(int x) -> int']);
  registry.clear();
  expect(textsOf(registry, 't::f')).toEqual([]);
  expect([...registry.names()]).toEqual([]);
});
