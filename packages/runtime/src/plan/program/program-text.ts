import { Storage, type IValue, type OpenNumber, type SymInt } from '@cresset/tensor';
import { kernelText } from '@cresset/tensorexpr';
import type { SameLayout } from '../recording/live-in.ts';
import { baseOf, SizedNumber } from '../recording/open-params.ts';
import type { LaunchProgram, LaunchStep, ProgramStep } from './launch-program.ts';

/**
 * A program as text, a step a line: `@2` is a storage, `%2` a value, `?2` a number that is another one with each replay, and `s2` a size that may be;
 * what is made of sizes stands for itself.
 *
 * @param known names of storages, where they have some
 */
export function programText({ steps, storages, env }: LaunchProgram, known?: ReadonlyMap<Storage, string>): string {
  const names = new Map<Storage | OpenNumber, string>(known);
  const used = new Set<Storage | OpenNumber>();
  const all = [...storages.keys()];
  let unnamed = 0;
  let values = 0;

  const nameOf = (of: Storage | OpenNumber): string => {
    const number = of instanceof Storage ? null : baseOf(of);
    if (number instanceof SizedNumber) return number.size.text;
    used.add(of);
    if (!names.has(of)) names.set(of, `${of instanceof Storage ? '@' : '?'}${unnamed++}`);
    return names.get(of)!;
  };
  const namesOf = (of: readonly Storage[]): string => of.map(nameOf).join(', ');
  const first = steps.findLastIndex(({ op }) => op === 'find') + 1;
  const made = (at: number): string => (at < 0 ? 'nothing' : `%${first + at}`);
  const launched = ({ launch: { kernel }, storages: bound, parts }: LaunchStep): string =>
    kernel
      ? kernelText(kernel, nameOf)
      : (parts?.map(launched).join('\nand ') ?? `a part of a kernel over ${namesOf(bound)}`);

  const textOf = (step: ProgramStep): string => {
    switch (step.op) {
      case 'find': {
        const { origin, open, isGuarded, storage, symbols, ...layout } = step as SameLayout;
        const words: unknown[] = Object.values(origin);
        if (origin.kind === 'attribute') words[1] = origin.object.type.attributes[origin.slot].name;
        return [
          `%${values++} = ${words.slice(0, 3).join(' ')}`,
          isGuarded && layout.dtype ? layoutText(layout) : '',
          isGuarded && 'value' in step ? plain(step.value as IValue) : '',
          storage < 0 ? '' : nameOf(all[storage]),
          open?.isRead === false ? nameOf(open) : '',
          ...symbols.map(({ symbol }) => `s${symbol}`),
        ]
          .filter(Boolean)
          .join(', ');
      }
      case 'compute':
        return `compute ${step.row.schema.split('(')[0]}`;
      case 'host':
        return `host ${step.name}`;
      case 'guard':
        return `guard %${step.liveIn} as it was written`;
      case 'draw':
        return `draw ${step.count}: ${nameOf(step.key)}, ${nameOf(step.first)}`;
      case 'keep':
        return `keep ${kernelText(step.kernel, nameOf)}`;
      case 'scratch':
        return `scratch ${step.byteLength} bytes now: ${namesOf(step.storages)}`;
      case 'launch':
        return `launch ${step.turn === undefined ? '' : `in turn ${step.turn} `}${launched(step)}`;
      case 'make': {
        const { value } = step;
        const { kind } = value;
        const items = 'items' in value ? value.items.map(made) : [kind === 'same' ? plain(value.value) : ''];
        const [own] =
          [...storages].filter((each) => each[1].kind !== 'scratch')[kind === 'tensor' ? value.storage : 0] ?? [];
        if (kind === 'tensor') items[0] = `${layoutText(value)}, ${nameOf(own)}`;
        if (kind === 'live-in') items[0] = `%${value.at}`;
        if (kind === 'size') items[0] = `${value.value}`;
        return `%${values++} = ${kind} ${items.join(', ')}`;
      }
      case 'append':
        return `append ${made(step.made)} to %${step.list}`;
      case 'set':
        return `set slot ${step.slot} of %${step.object} to ${made(step.made)}`;
      case 'result':
        return `register ${step.register} = ${made(step.made)}`;
    }
  };

  all.forEach(nameOf);
  used.clear();
  const lines = [...[...(env?.guards.keys() ?? [])].map((guard) => `guard ${guard}`), ...steps.map(textOf)];
  const declared = all
    .filter((storage) => used.has(storage))
    .map((storage) => {
      const { kind, dtype, home, part, isParameter, rows, row } = storages.get(storage)!;
      const where = `${isParameter ? ' parameter' : ''}${part ? ` part of ${nameOf(part.storage)}` : ''}${home ? ` in ${nameOf(home)}` : ''}`;
      const length = rows
        ? `, ${rows.rows} rows of ${rows.row}${rows.by === null ? '' : ` + ${rows.by}`}`
        : row
          ? `, rows of ${row}`
          : '';
      return `${nameOf(storage)}: ${dtype}, ${storage.symBytes ?? storage.byteLength} bytes, ${kind}${where}${length}`;
    });
  return ['program:', ...declared, ...lines].join('\n').replaceAll('\n', '\n  ') + '\n';
}

interface Layout {
  readonly dtype: string;
  readonly sizes: readonly SymInt[];
  readonly strides: readonly SymInt[];
  readonly offset: SymInt;
}

const layoutText = ({ dtype, sizes, strides, offset }: Layout): string =>
  `${dtype}[${sizes.join(', ')}] strides [${strides.join(', ')}] offset ${offset}`;

const plain = (value: IValue): string => (typeof value === 'object' && value ? 'a constant' : `${value}`);
