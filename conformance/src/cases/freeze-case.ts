import { freezeModule, optimizeFrozenGraph } from '@cresset/passes';
import { evaluateAnyConstant, type RuntimeContextOptions } from '@cresset/runtime';
import type { FileReader, ProgramCase } from './case.ts';
import { withCanonicalNames } from './graph-text.ts';
import { openFile, type Program } from './program.ts';

/**
 * A case of `ir/freeze`: the graph of `forward` when it is frozen, and when it is optimised too with changes to its numbers. (`graph` is of the
 * module before it was saved, whose constants stand in another order than those of a file's.)
 */
export interface FreezeCase extends ProgramCase {
  readonly file: string;
  readonly frozen: string;
  readonly frozen_optimized: string;
  /** Attributes and methods to be kept. */
  readonly preserved?: readonly string[];
}

export const FREEZE_STAGES = ['frozen', 'frozen_optimized'] as const;

/** The program of a case as it is at one stage. */
export function openFrozen(
  { file, preserved }: FreezeCase,
  stage: (typeof FREEZE_STAGES)[number],
  options: Pick<RuntimeContextOptions, 'device' | 'limits'>,
  readFile: FileReader,
): Promise<Program> {
  return openFile(file, options, readFile, (loaded, unit) => {
    const { module, methods } = freezeModule(loaded, unit, {
      evaluate: evaluateAnyConstant,
      ...(preserved && { preserved }),
    });
    for (const { graph } of methods) optimizeFrozenGraph(graph, evaluateAnyConstant, stage === 'frozen_optimized');
    return module;
  });
}

/** How graphs differ, aside from names of values and of classes, and from the elements of tensors; null where they do not. */
export function differenceOfGraph(got: string, want: string): string | null {
  const [mine, theirs] = [got, want].map((text) => withCanonicalNames(comparable(text)).split('\n'));
  const at = theirs.findIndex((line, index) => line !== mine[index]);
  if (at === -1 && mine.length === theirs.length) return null;
  return `line ${at === -1 ? theirs.length : at}: ${mine[at]?.trim()} / ${theirs[at]?.trim()}`;
}

const comparable = (text: string): string =>
  text
    .replace(/ # [^\n"]*:\d+:\d+$/gm, '')
    .replace(/___torch_mangle_\d+\./g, '')
    .replace(
      /((?:Float|Double|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)\([^=\n]*device=cpu\) = prim::Constant\[value=)[^\n]*(\]\(\))$/gm,
      '$1$2',
    );
