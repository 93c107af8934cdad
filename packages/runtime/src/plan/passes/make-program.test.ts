import { readFileSync } from 'node:fs';
import { elementSize } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';
import type { LaunchProgram } from '../program/launch-program.ts';
import { fuseLaunches } from './fuse-launches.ts';
import { KeptParameters } from './keep-parameters.ts';
import { recorderOf, regionsOf } from './launches-fixture.ts';
import { optimiseProgram } from './make-program.ts';
import { planScratch } from './plan-scratch.ts';
import { storeInPlaces } from './store-in-place.ts';

const page = readFileSync(new URL('../../../../../docs/design.md', import.meta.url), 'utf8');
const [, section] = /\n\*\*One program, pass by pass\.\*\*(.*?)\n\*\*/s.exec(page)!;
const [recorded, ...changes] = [...section.matchAll(/```\n(.*?)```/gs)].map(([, text]) => text);
const device = { deviceElementSize: elementSize };

const stepsIn = (text: string): string[] => text.trimEnd().split(/\n(?= {2}\S)/);

/** What a pass changed: the steps that were not there before, with `…` for those that were. */
function changesBetween(before: string, after: string): string {
  const known = new Set(stepsIn(before));
  const steps = stepsIn(after).map((step) => (known.has(step) ? '  …' : step));
  return `${steps.filter((step, at) => step !== '  …' || step !== steps[at - 1]).join('\n')}\n`;
}

test('docs/design.md shows what each pass makes of a program', () => {
  const { program, textOf } = parseProgram(recorded, [2048]);
  const kept = new KeptParameters(program, 1 << 20, recorderOf());
  const passes: readonly ((program: LaunchProgram) => LaunchProgram)[] = [
    () => kept.addTo(kept.leaveOut()),
    (each) => fuseLaunches(each, plainGpu, recorderOf(), (kernel) => kept.lighten(kernel)),
    (each) => storeInPlaces(each, regionsOf(each)),
    (each) => planScratch(each, device),
  ];
  expect(textOf(program)).toBe(recorded);
  let last = program;
  const shown = passes.map((pass) => {
    const before = textOf(last);
    last = pass(last);
    return changesBetween(before, textOf(last));
  });
  expect(shown).toEqual(changes);
  // One after the other they are what is done with every program.
  const limits = { room: 1 << 20, joinedNodes: 0, joinsHeavy: false, sharesBuffers: true };
  const all = optimiseProgram(program, { ...device, capabilities: plainGpu } as never, recorderOf(), limits)!;
  expect(textOf(all)).toBe(textOf(last));
});
