import { Tensor } from '@cresset/tensor';
import type { CaseInput } from './case-input.ts';

const bad = (target: string, take: () => unknown): CaseInput => ({ target, input: '', size: 0, take });

/** Cases that must be noticed, each by another part of the watch. */
export const selfTests: readonly CaseInput[] = [
  bad('another error', () => {
    throw new TypeError('not a CressetError');
  }),
  bad('a hang', () => {
    for (;;);
  }),
  bad('a wait without end', () => new Promise((resolve) => setTimeout(resolve, 2 ** 30))),
  bad('a heap without end', () => {
    for (const kept: unknown[] = []; ;) kept.push(Array.from({ length: 1000 }, () => kept));
  }),
  bad('buffers over the bound', () => {
    const buffers: Uint8Array[] = [];
    for (let times = 0; times < 20; times++) buffers.push(new Uint8Array(10 << 20));
  }),
  bad('tensors over the bound', () => {
    const tensors: Tensor[] = [];
    for (let times = 0; times < 20; times++) tensors.push(Tensor.empty([10 << 18], 'float32'));
  }),
];
