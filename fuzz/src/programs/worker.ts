import { initializeRuntime, registerAllParts } from '@cresset/runtime';
import { growProgram, type Growth } from './growth.ts';
import { openLane, type Lane } from './lanes.ts';
import { sourceOf, type Program } from './program.ts';
import { describe, reduce } from './reduction.ts';
import { judge, judgeSeed } from './trial.ts';

/** What the process is to do, and what it tells: one message a seed. */
export interface Work {
  readonly lane: Lane;
  readonly growth: Growth;
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** Only tells the programs of the seeds, and runs none of them. */
  readonly show: boolean;
}
export type Told = { readonly seed: number } & (
  | { readonly kind: 'begin' | 'same' | 'ill-conditioned' }
  | { readonly kind: 'wrong' | 'shown'; readonly report: string }
);

const tell = (told: Told): void => void process.send!(told);

async function work({ lane, growth, first, last, step, show }: Work): Promise<void> {
  initializeRuntime();
  registerAllParts();
  for (let seed = first; show && seed <= last; seed += step) {
    const program = await growProgram(seed, growth);
    tell({ seed, kind: 'shown', report: describe(program, sourceOf(program)) });
  }
  if (show) return;
  const way = await openLane(lane);
  for (let seed = first; seed <= last; seed += step) {
    tell({ seed, kind: 'begin' });
    const verdict = await judgeSeed(seed, way, growth);
    if (verdict.kind !== 'wrong') {
      tell({ seed, kind: verdict.kind });
      continue;
    }
    const isStillWrong = async (program: Program): Promise<boolean> => {
      // Each try takes as long as a program: none of them hangs.
      tell({ seed, kind: 'begin' });
      return (await judge(program, way)).kind === 'wrong';
    };
    const smallest = await reduce(verdict.program, isStillWrong);
    const again = await judge(smallest, way);
    const { call, what } = again.kind === 'wrong' ? again : verdict;
    tell({ seed, kind: 'wrong', report: `${describe(smallest, sourceOf(smallest))}\ncall ${call + 1}: ${what}` });
  }
}

process.on('message', (message: Work) => {
  work(message).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
