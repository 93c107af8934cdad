import { script } from '@cresset/frontend';
import { describe, expect, it } from 'vitest';
import { registerAllOperators } from '@cresset/operators';
import type { List } from '@cresset/tensor';
import { Execution } from '../run/execution.ts';
import { ExecutorCache } from '../executor/graph-executor.ts';
import { initializeRuntime } from '../initialize.ts';
import { InterpreterState } from './interpreter-state.ts';
import { RuntimeContext } from '../run/runtime-context.ts';

const CLASS = `
class Card:
    def __init__(self, rank: int, name: str):
        self.rank = rank
        self.name = name
    def __lt__(self, other: 'Card') -> bool:
        return self.rank < other.rank
class Plain:
    def __init__(self, rank: int):
        self.rank = rank
class Odd:
    def __init__(self, rank: int):
        self.rank = rank
    def __lt__(self, other: 'Odd') -> int:
        return 1
`;

function run(body: string): unknown {
  registerAllOperators();
  initializeRuntime();
  const fn = script(`${CLASS}def main():\n${body}`).getFunction('__torch__.main');
  const executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
  const state = new InterpreterState(new Execution(new RuntimeContext()), (callee) => executors.ofFunction(callee));
  const [result] = state.run(executors.ofFunction(fn).code(), []) as readonly unknown[];
  return (result as List).items;
}

describe('lists of objects', () => {
  const cards = "    cards = [Card(3, 'a'), Card(1, 'b'), Card(3, 'c'), Card(2, 'd')]\n";

  it('are sorted by __lt__, and equal ones keep their order', () => {
    expect(run(`${cards}    cards.sort()\n    return [card.name for card in cards]\n`)).toEqual(['b', 'd', 'a', 'c']);
    expect(run(`${cards}    cards.sort(reverse=True)\n    return [card.name for card in cards]\n`)).toEqual([
      'a',
      'c',
      'd',
      'b',
    ]);
  });

  it('are sorted into a new list', () => {
    expect(run(`${cards}    other = sorted(cards)\n    return [cards[0].name, other[0].name]\n`)).toEqual(['a', 'b']);
  });

  it('are sorted within tuples', () => {
    const tuples = "    pairs = [(1, Card(2, 'a')), (1, Card(1, 'b')), (0, Card(5, 'c'))]\n";
    expect(run(`${tuples}    pairs.sort()\n    return [pair[1].name for pair in pairs]\n`)).toEqual(['c', 'b', 'a']);
  });

  it('need a class with __lt__', () => {
    expect(() => run('    plain = [Plain(2), Plain(1)]\n    plain.sort()\n    return [plain[0].rank]\n')).toThrow(
      /To sort a list of __torch__\.Plain it must define a __lt__ method with two inputs of type __torch__\.Plain that returns a bool/,
    );
  });

  it('need a __lt__ that takes two of the class and says a bool, however few there are', () => {
    expect(() => run('    odd = [Odd(2)]\n    odd.sort()\n    return [odd[0].rank]\n')).toThrow(
      /To sort a list of __torch__\.Odd it must define/,
    );
    expect(() => run('    odd = [(1, Odd(2))]\n    odd.sort()\n    return [odd[0][0]]\n')).toThrow(
      /To sort a list of __torch__\.Odd it must define/,
    );
  });

  it('in tuples with what has no order are refused', () => {
    expect(() => run('    pairs = [({1: 2}, 3)]\n    pairs.sort()\n    return [pairs[0][1]]\n')).toThrow(
      'Contained elements in (Dict(int, int), int) are not sortable. Only Int, Bool, Float, String, Tensor,',
    );
  });
});
