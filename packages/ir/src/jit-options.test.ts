import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AliasDb, type Graph, jitLog, mayChange, parseIr, printGraph, setJitLogSink, setJitOptions } from './index.ts';

let log = '';

beforeEach(() => {
  log = '';
  setJitLogSink((text) => (log += text));
});

afterEach(() => setJitOptions({ logLevel: '', optLimit: '', typeVerbosity: 3, sourceRanges: undefined }));

function exampleGraph(): Graph {
  return parseIr(`graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %l : Tensor[]):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::relu(%x)
  %3 : Tensor[] = prim::ListConstruct(%2, %x)
  return (%3)
`);
}

describe('log levels', () => {
  const speak = (file: string): void => {
    jitLog('DUMP', file, () => 'graph\nof two lines\n');
    jitLog('UPDATE', file, () => 'change');
    jitLog('DEBUG', file, () => 'detail');
  };

  test('a name shows graphs, `>` changes too, `>>` details too', () => {
    setJitOptions({ logLevel: 'peephole:>inliner:>>alias_analysis' });
    for (const file of ['peephole', 'inliner', 'alias_analysis', 'lower_tuples']) speak(file);
    expect(log.split('\n')).toEqual([
      '[DUMP peephole] graph',
      '[DUMP peephole] of two lines',
      '[DUMP inliner] graph',
      '[DUMP inliner] of two lines',
      '[UPDATE inliner] change',
      '[DUMP alias_analysis] graph',
      '[DUMP alias_analysis] of two lines',
      '[UPDATE alias_analysis] change',
      '[DEBUG alias_analysis] detail',
      '',
    ]);
  });

  test('a file may be named with its folder and ending', () => {
    setJitOptions({ logLevel: '>torch/csrc/jit/passes/peephole.cpp' });
    speak('peephole');
    expect(log).toContain('[UPDATE peephole] change');
  });

  test('what is not to be shown is not made', () => {
    setJitOptions({ logLevel: 'peephole' });
    jitLog('UPDATE', 'peephole', () => expect.fail('it was made'));
  });
});

describe('limits', () => {
  test('a pass makes as many changes as it may, whatever others do', () => {
    setJitOptions({ optLimit: 'peephole=2:inliner=0' });
    const [node] = exampleGraph().nodes();
    const allowed = (file: string): boolean[] => [1, 2, 3].map(() => mayChange(file, node));
    expect(allowed('peephole')).toEqual([true, true, false]);
    expect(allowed('inliner')).toEqual([false, false, false]);
    expect(allowed('lower_tuples')).toEqual([true, true, true]);
  });

  test('counts begin anew with new options', () => {
    const [node] = exampleGraph().nodes();
    for (let times = 0; times < 2; times++) {
      setJitOptions({ optLimit: 'peephole=1' });
      expect([mayChange('peephole', node), mayChange('peephole', node)]).toEqual([true, false]);
    }
  });

  test('a limit that is no number is refused', () => {
    expect(() => setJitOptions({ optLimit: 'peephole=many' })).toThrow("'peephole=many' is no limit of a pass");
  });

  test('changes that are made are shown', () => {
    setJitOptions({ optLimit: 'peephole=1', logLevel: '>peephole' });
    const [, relu] = exampleGraph().nodes();
    mayChange('peephole', relu);
    mayChange('peephole', relu);
    expect(log).toBe('[UPDATE peephole] Changing\n[UPDATE peephole] %3 : Tensor = aten::relu(%x)\n');
  });
});

// The texts are those of PyTorch with PYTORCH_JIT_TYPE_VERBOSITY.
test.each([
  [0, '%x,'],
  [1, '%x : Float(2, 3),'],
  [2, '%x : Float(2, 3, strides=[3, 1]),'],
  [3, '%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),'],
])('type verbosity %i', (typeVerbosity, text) => {
  setJitOptions({ typeVerbosity });
  expect(printGraph(exampleGraph())).toContain(`graph(${text}\n`);
});

test('an AliasDb tells what points where, as PyTorch prints it', () => {
  const text = new AliasDb(
    parseIr(`graph(%x : Tensor, %l : Tensor[]):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::rand_like(%x)
  %3 : Tensor = aten::t(%2)
  %4 : Tensor = aten::add_(%3, %x, %1)
  %5 : Tensor[] = prim::ListConstruct(%2, %4)
  %6 : (Tensor, Tensor[]) = prim::TupleConstruct(%2, %5)
  return (%4, %6)
`),
  ).dump();
  expect(text).toContain('\n===1. GRAPH===\ngraph(%x : Tensor,');
  expect(text).toContain('%x points to: WILDCARD for type Tensor\n');
  expect(text).toContain('%l contains: WILDCARD for type Tensor\n');
  expect(text).toContain('\n===3. Writes===\n');
});

test.each(['of', 'lazily'] as const)('each pass that asks for an AliasDb has it logged: AliasDb.%s', (ask) => {
  const graph = exampleGraph();
  const logged = (logLevel: string): number => {
    let text = '';
    setJitLogSink((lines) => (text += lines));
    setJitOptions({ logLevel });
    AliasDb[ask](graph);
    AliasDb[ask](graph);
    return text.split('===2. ALIAS DB===').length - 1;
  };
  expect(logged('>>alias_analysis')).toBe(2);
  expect(logged('>alias_analysis')).toBe(0);
});
