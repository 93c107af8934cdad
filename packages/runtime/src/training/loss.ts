import { declareScript } from '@cresset/frontend';
import { CressetError, type GraphFunction } from '@cresset/ir';
import { needForSource } from '../authoring/source-parts.ts';
import type { ProgramParts } from '../worker/program-parts.ts';

/** So many losses are known by their sources: plans that were made for one are used again. */
const MAX_LOSSES = 16;
const losses = new Map<string, GraphFunction>();

/**
 * Compiles a function of what a model gives and a target, by its name in torch.nn.functional or as TorchScript source, of which the first function is
 * it. Rejects with the compiler's error.
 */
export async function compileLoss(loss: string, parts: ProgramParts): Promise<GraphFunction> {
  const isName = /^\w+$/.test(loss);
  const source = isName ? `def loss(input, target):\n    return F.${loss}(input, target)\n` : loss;
  await needForSource(parts, source);
  let fn = losses.get(source);
  if (!fn) {
    fn = await compileSource(source, isName ? `torch.nn.functional.${loss}` : 'loss', parts);
    if (losses.size >= MAX_LOSSES) losses.delete(losses.keys().next().value!);
    losses.set(source, fn);
  }
  return fn;
}

/** Compiles the first function of a source, called by its name in errors. Rejects with the compiler's error. */
export async function compileSource(source: string, name: string, parts: ProgramParts): Promise<GraphFunction> {
  await needForSource(parts, source);
  const [fn] = declareScript(source, { filename: `<${name}>` }).functions;
  if (!fn) throw new CressetError('ARGUMENT', `the source of the ${name} defines no function`);
  fn.ensureDefined();
  return fn;
}
