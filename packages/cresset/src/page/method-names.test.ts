import { expect, test } from 'vitest';
import { createModule, load, script, tensor, type ScriptModule, type Tensor } from '../index.ts';

const cpu = { device: 'cpu' } as const;
/** Names that the page's object has itself, one that would make it a Promise, and some that are nobody else's. */
const names = ['profile', 'call', 'then', 'dispose', 'method', 'methods', 'constructor', 'toString', 'valueOf'];
const free = ['file', 'path', 'openFile', 'open', 'encode', 'name', 'length', 'apply'];
const source = [...names, ...free].map((name, index) => `def ${name}(self, x):\n    return x + ${index}\n`).join('\n');

async function check(module: ScriptModule): Promise<void> {
  const x = tensor([0]);
  for (const [index, name] of [...names, ...free].entries()) {
    expect(((await module.call(name, [x])) as Tensor).item(), name).toBe(index);
    expect(((await module.method(name)(x)) as Tensor).item(), name).toBe(index);
  }
  for (const [index, name] of free.entries()) {
    const method = (module as unknown as Record<string, ReturnType<ScriptModule['method']>>)[name];
    expect(((await method(x)) as Tensor).item(), name).toBe(names.length + index);
  }
  expect('then' in module).toBe(false);
  expect(module.methods()).toEqual(expect.arrayContaining(names));
  expect(await module.schema('profile')).toContain('profile');
  expect((await module.profile([x], { method: 'encode' })).kernels).toBeDefined();
}

test('a module has methods of any name, and the page its own', async () => {
  const module = await createModule('Names', cpu);
  await module.define(source);
  await check(module);
  const loaded = await load(await module.save(), cpu);
  await check(loaded);
  await loaded.dispose();
  await module.dispose();
  expect(() => module.place).toThrow('disposed');
});

test('a program has functions and classes of any name', async () => {
  const functions = ['define', 'then', 'open', 'construct', 'functions', 'file'];
  const text = functions.map((name, index) => `def ${name}(n: int):\n    return n + ${index}\n`).join('\n');
  const holder =
    'class Holder:\n    def __init__(self, n: int):\n        self.n = n\n    def then(self) -> int:\n        return self.n\n    def path(self) -> int:\n        return self.n + 1\n';
  const unit = await script<'open' | 'file'>(`${text}\n${holder}`, cpu);
  for (const [index, name] of functions.entries()) expect(await unit.function(name)(1), name).toBe(1 + index);
  expect([await unit.open(1), await unit.file(1)]).toEqual([3, 6]);
  const object = await unit.construct('Holder', [5]);
  expect([await object.call('then', []), await object.method('path')()]).toEqual([5, 6]);
  await object.dispose();
  const user = await script('def twice(n: int):\n    return open(n) * 2\n', { ...cpu, uses: unit });
  expect(await user.function('twice')(1)).toBe(6);
  await user.dispose();
  await unit.dispose();
});
