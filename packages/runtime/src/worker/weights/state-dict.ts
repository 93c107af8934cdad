import { CressetError } from '@cresset/ir';
import { copyInto } from '@cresset/operators';
import { Tensor, type ScriptObject } from '@cresset/tensor';
import type { StateDictReport } from '../wire/protocol.ts';

/**
 * Copies tensors into the parameters and buffers of a module and those below it, by name (torch.nn.Module.load_state_dict).
 *
 * Throws `STATE_DICT` with PyTorch's message, before anything is changed: for sizes that do not fit, and where `strict` for names
 * that are missing or unexpected.
 *
 * @param modules modules by path, each before those below it
 */
export async function loadStateDict(
  modules: ReadonlyMap<string, ScriptObject>,
  path: string,
  state: ReadonlyMap<string, Tensor>,
  strict: boolean,
): Promise<StateDictReport> {
  const missingKeys: string[] = [];
  const unexpectedKeys: string[] = [];
  const errors: string[] = [];
  const copies: (readonly [target: Tensor, source: Tensor])[] = [];
  const inside = path === '' ? '' : `${path}.`;
  for (const [modulePath, { type, slots }] of modules) {
    if (modulePath !== path && !modulePath.startsWith(inside)) continue;
    const prefix = modulePath === path ? '' : `${modulePath.slice(inside.length)}.`;
    const known = new Set<string>();
    for (const kind of ['parameter', 'buffer']) {
      type.attributes.forEach((attribute, slot) => {
        const target = slots[slot];
        if (attribute.kind !== kind || !(target instanceof Tensor)) return;
        known.add(attribute.name);
        const key = prefix + attribute.name;
        const given = state.get(key);
        if (!given) {
          missingKeys.push(key);
          return;
        }
        // Before 0.4, PyTorch had no tensors without dimensions.
        const source = target.dim === 0 && given.dim === 1 && given.numel > 0 ? given.asStrided([], []) : given;
        if (source.quantizer && !target.quantizer) {
          errors.push(
            `While copying the parameter named "${key}", an exception occurred : Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor from a quantized Tensor.`,
          );
        } else if (String(source.sizes) === String(target.sizes)) {
          copies.push([target, source]);
        } else {
          errors.push(
            `size mismatch for ${key}: copying a param with shape ${sizeText(given)} from checkpoint, the shape in current model is ${sizeText(target)}.`,
          );
        }
      });
    }
    for (const key of state.keys()) {
      if (!key.startsWith(prefix)) continue;
      const [first, ...rest] = key.slice(prefix.length).split('.');
      const isBelow = rest.length > 0 && modules.has(`${modulePath === '' ? '' : `${modulePath}.`}${first}`);
      if (!isBelow && !known.has(first)) unexpectedKeys.push(key);
    }
  }
  if (strict) errors.unshift(...keysError('Missing', missingKeys), ...keysError('Unexpected', unexpectedKeys));
  if (errors.length > 0) {
    const className = modules.get(path)!.type.qualifiedName;
    throw new CressetError(
      'STATE_DICT',
      `Error(s) in loading state_dict for ${className.slice(className.lastIndexOf('.') + 1)}:\n\t${errors.join('\n\t')}`,
    );
  }
  for (const [target, source] of copies) {
    await target.storage.toHost();
    copyInto(target, source);
  }
  return { missingKeys, unexpectedKeys };
}

function keysError(what: string, keys: readonly string[]): string[] {
  return keys.length === 0 ? [] : [`${what} key(s) in state_dict: ${keys.map((key) => `"${key}"`).join(', ')}. `];
}

function sizeText({ sizes }: Tensor): string {
  return `torch.Size([${sizes.join(', ')}])`;
}
