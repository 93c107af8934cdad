import { symGe } from '@cresset/tensor';
import {
  reductionsIn,
  expressionsIn,
  symExtentOf,
  type AxisExpr,
  type KernelSignature,
  type NormalKernel,
} from '@cresset/tensorexpr';
import type { LinearMemory } from '../linear-memory.ts';
import { ModuleBuilder } from '../module.ts';
import { writeContraction } from './contraction-writer.ts';
import { goesByLine, sumOfRows, writeLoops } from './nest-writer.ts';
import { REDUCTION_BORDERS } from './reductions.ts';
import { rareFunctions, rareImports } from './functions/rare-functions.ts';
import { tileOf } from './tiles.ts';
import type { StoredTerms } from './stored-terms.ts';
import type { Windows } from './windows.ts';

/** A nest as functions of the address of its launch block and the points, steps or lines to go over; of steps, for which sequences. */
export interface NestFunctions {
  run(block: number, from: number, to: number, first?: number, end?: number): void;
}

/** What a contraction is made of, beside the product of what was packed. */
export interface ContractionFunctions {
  packLeft(block: number, batch: number, from: number, to: number, target: number): void;
  packRight(block: number, batch: number, from: number, to: number, target: number): void;
  /** Only where columns are windows of an image. */
  image?(
    block: number,
    batch: number,
    batchEnd: number,
    line: number,
    lineEnd: number,
    columns: number,
    target: number,
    gap: number,
  ): void;
  store(
    block: number,
    batch: number,
    batchEnd: number,
    m: number,
    mEnd: number,
    n: number,
    nEnd: number,
    sums: number,
    stride: number,
    group: number,
  ): void;
}

/** A kernel's module, of which the bytes can be had. Throws a CressetError where it has functions for values they are not defined for. */
export function kernelModule(
  kernel: NormalKernel,
  signature: KernelSignature,
  windows: Windows | null,
  terms: StoredTerms | null,
  isShared: boolean,
  isRelaxed: boolean,
): ModuleBuilder {
  const module = new ModuleBuilder(rareImports, isShared, isRelaxed);
  if (kernel.kind === 'contraction') writeContraction(module, kernel, windows, signature);
  else writeLoops(module, terms?.nest ?? kernel, signature, terms);
  return module;
}

/** The exports of a module over a memory. */
export function instantiate<Functions>(module: WebAssembly.Module, { memory }: LinearMemory): Functions {
  const { exports } = new WebAssembly.Instance(module, { host: { memory, ...rareFunctions } });
  return exports as Functions;
}

/** What decides, beside its structure, how a kernel is written: how long its loops are, about, and in which order. */
export function lengthsKey(kernel: NormalKernel): string {
  const axes: AxisExpr[] =
    kernel.kind === 'contraction'
      ? [...kernel.batch, kernel.m, kernel.n, ...kernel.k]
      : [...kernel.axes, ...kernel.innerAxes];
  for (const reduction of reductionsIn(expressionsIn(kernel))) axes.push(...reduction.axes);
  const lengths = axes
    .map((axis) => REDUCTION_BORDERS.filter((border) => symGe(symExtentOf(axis), border)).length)
    .join('');
  if (kernel.kind === 'recurrence' && goesByLine(kernel)) return `${lengths}lines`;
  if (kernel.kind !== 'contraction' && sumOfRows(kernel)) return `${lengths}rows`;
  const tile = kernel.kind === 'nest' && tileOf(kernel);
  return tile ? `${lengths}across${kernel.axes.indexOf(tile.across)}` : lengths;
}
