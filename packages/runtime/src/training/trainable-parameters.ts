import { CressetError } from '@cresset/ir';
import { Tensor, type ScriptObject } from '@cresset/tensor';
import type { HostedModel } from '../worker/hosted-model.ts';

/** A parameter by its place: a call may put another tensor there. */
export class Parameter {
  constructor(
    readonly name: string,
    private readonly owner: ScriptObject,
    private readonly slot: number,
  ) {}

  get tensor(): Tensor {
    return this.owner.slots[this.slot] as Tensor;
  }
}

/** The parameters of a module and of those below it, each once, with their names from the module on (Module.named_parameters). */
export function parametersOf({ modules }: HostedModel, path: string): Parameter[] {
  const found: Parameter[] = [];
  const seen = new Set<Tensor>();
  for (const [modulePath, owner] of modules) {
    if (modulePath !== path && path !== '' && !modulePath.startsWith(`${path}.`)) continue;
    const below = path === '' ? modulePath : modulePath.slice(path.length + 1);
    owner.type.attributes.forEach(({ name, kind }, slot) => {
      const value = owner.slots[slot];
      if (kind !== 'parameter' || !(value instanceof Tensor) || seen.has(value)) return;
      seen.add(value);
      found.push(new Parameter(below === '' ? name : `${below}.${name}`, owner, slot));
    });
  }
  return found;
}

/**
 * The parameters of each group of an optimiser.
 *
 * Throws `NO_PARAMETER` where there is none of a name, and `ARGUMENT` with PyTorch's message for groups that have none, or the same ones.
 */
export function groupedParameters(
  all: readonly Parameter[],
  groups: readonly (readonly string[] | null)[],
): Parameter[][] {
  const byName = new Map(all.map((each) => [each.name, each]));
  const grouped = groups.map((names) => {
    if (!names) return all.filter(({ tensor }) => tensor.requiresGrad);
    return names.map((name) => {
      const found = byName.get(name);
      if (!found) throw new CressetError('NO_PARAMETER', `there is no parameter '${name}'`);
      return found;
    });
  });
  const flat = grouped.flat();
  if (flat.length === 0) throw new CressetError('ARGUMENT', 'optimizer got an empty parameter list');
  if (new Set(flat).size < flat.length) {
    throw new CressetError('ARGUMENT', 'some parameters appear in more than one parameter group');
  }
  return grouped;
}
