import { expect, test, vi } from 'vitest';
import { fillGaps } from './worklet-scope.ts';

/** What an audio thread has of its own, filled. */
function audioScope(own: object = {}): typeof globalThis {
  const scope = { AudioWorkletGlobalScope: class {}, ...own };
  fillGaps(scope);
  return scope as unknown as typeof globalThis;
}

test('text goes to UTF-8 and back, and what is no UTF-8 is replaced', () => {
  const scope = audioScope();
  for (const text of ['', 'model', 'é – 漢字 🎧\u0000', '\ud800 alone', `${'x'.repeat(5000)}ß`]) {
    const bytes = new TextEncoder().encode(text);
    expect([...new scope.TextEncoder().encode(text)]).toEqual([...bytes]);
    expect(new scope.TextDecoder().decode(bytes)).toBe(new TextDecoder().decode(bytes));
    expect(new scope.TextDecoder().decode(bytes.buffer)).toBe(new TextDecoder().decode(bytes));
    expect(new scope.TextDecoder('latin1').decode(bytes).length).toBe(bytes.length);
  }
  for (const codes of [
    [0x61, 0xff, 0x62],
    [0xc3, 0xa9, 0x80, 0x80],
    [0xef, 0xbb, 0xbf, 0x61],
  ]) {
    const bytes = Uint8Array.from(codes);
    expect(new scope.TextDecoder().decode(bytes)).toBe(new TextDecoder().decode(bytes));
  }
});

test('copies are deep, and what is transferred is gone where it can be', () => {
  const scope = audioScope();
  const buffer = Uint8Array.of(1, 2, 3).buffer;
  const copy = scope.structuredClone({ list: [{ buffer }], text: 'a', none: null });
  expect(copy).toEqual({ list: [{ buffer }], text: 'a', none: null });
  expect(copy.list[0].buffer).not.toBe(buffer);
  expect(scope.structuredClone(buffer, { transfer: [buffer] }).byteLength).toBe(3);
  expect(buffer.byteLength).toBe('transfer' in buffer ? 0 : 3);
});

test('aborting is told once, with its reason', () => {
  const controller = new (audioScope().AbortController)();
  const told = vi.fn();
  controller.signal.addEventListener('abort', told);
  controller.abort('enough');
  controller.abort('again');
  expect([controller.signal.aborted, controller.signal.reason, told.mock.calls.length]).toEqual([true, 'enough', 1]);
});

test('nothing is fetched, and the error says what to do', async () => {
  await expect(audioScope().fetch('https://models.test/digits.pt')).rejects.toThrow('by postMessage');
});

test('what there is stays as it is, and other scopes stay as they are', () => {
  const performance = { now: () => 1 };
  expect(audioScope({ performance }).performance).toBe(performance);
  const other = {};
  fillGaps(other);
  expect(other).toEqual({});
});
