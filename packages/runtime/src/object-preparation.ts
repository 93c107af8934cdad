import type { ScriptObject } from '@cresset/tensor';

/** What makes an object ready for its first use, once its tensors are on the host; undefined for an object that needs nothing. */
export type ObjectPreparation = (object: ScriptObject) => (() => void) | undefined;

let preparation: ObjectPreparation | undefined;

/** Makes objects that a file restores ready when it is loaded, as PyTorch packs weights then. */
export function setObjectPreparation(of: ObjectPreparation): void {
  preparation = of;
}

export function preparationOf(object: ScriptObject): (() => void) | undefined {
  return preparation?.(object);
}
