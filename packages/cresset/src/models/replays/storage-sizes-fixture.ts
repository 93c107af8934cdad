import type { RuntimeContextOptions } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

const source = `
import torch
from torch import Tensor

def beyond(x: Tensor) -> Tensor:
    return torch.relu(x.as_strided([4], [1], 2000)) * 2

def grown(x: Tensor, y: Tensor) -> Tensor:
    v = x.clone()
    torch.add(y.reshape(-1, 1) * torch.ones([1, 3]), 0.3, out=v)
    return v

def halved(x: Tensor) -> Tensor:
    return x.logical_not_()
`;

type Result = number[] | string;

async function resultOf(functions: PythonFunctions, name: string, args: readonly Tensor[]): Promise<Result> {
  try {
    const result = (await functions.call(name, args)) as Tensor;
    return Array.from(result.contiguousArray() as Float32Array);
  } catch (error) {
    return (error as Error).message.trim().split('\n').at(-1)!;
  }
}

/** What calls come to with everything on and as the program is written: their results or errors, and what lies behind an argument. */
export interface Outcomes {
  readonly got: readonly Result[];
  readonly wanted: readonly Result[];
}

/** Makes calls of a program whose arguments differ in nothing but the storages that they are views of, or in that as well. */
export async function outcomesOf(
  name: string,
  makers: readonly (() => readonly Tensor[])[],
  options: RuntimeContextOptions,
): Promise<Outcomes> {
  const [here, there] = [new PythonFunctions(source, options), new PythonFunctions(source, {})];
  const [got, wanted]: Result[][] = [[], []];
  for (const make of makers) {
    for (const [functions, results] of [
      [here, got],
      [there, wanted],
    ] as const) {
      const args = make();
      results.push(await resultOf(functions, name, args));
      const { storage } = args[0];
      await storage.toHost();
      results.push([...new Uint8Array(storage.hostBytes())].slice(-4));
    }
  }
  return { got, wanted };
}

/** The first ten of so many elements. */
export const firstOf = (count: number): (() => readonly Tensor[]) => {
  return () => [tensorOf([count]).asStrided([10], [1])];
};

export const grownFrom = (count: number): (() => readonly Tensor[]) => {
  return () => [tensorOf([count]), tensorOf([500], count)];
};

/** The first 1001 of so many bytes. */
export const truthsOf = (count: number): (() => readonly Tensor[]) => {
  const bytes = (): Uint8Array => Uint8Array.from({ length: count }, (_, at) => at % 2);
  return () => [Tensor.fromArray(bytes(), [count], 'bool').asStrided([1001], [1])];
};
