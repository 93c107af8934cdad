import { version } from '@cresset/ir';
import { expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { linkPart, usePartAddresses } from './part-links.ts';

const addressOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

it('a part is linked to the engine and to the parts that it needs', async () => {
  usePartAddresses({
    'part-sum.js': addressOf(
      `(globalThis[Symbol.for("cresset.parts ${version}")]??={})["part-sum.js"]={needs:["part-two.js"],define:function(engine,part0){const{a:one}=engine;const{two}=part0;return{register(){},sum:one+two()}}};`,
    ),
    'part-two.js': addressOf(
      `(globalThis[Symbol.for("cresset.parts ${version}")]??={})["part-two.js"]={needs:[],define:function(engine){engine.log.push('two');return{two:()=>2}}};`,
    ),
  });
  const log: string[] = [];
  const engine = (): Record<string, unknown> => ({ a: 1, log });
  const [part, again] = await Promise.all([
    linkPart(['part-sum.js', 'part-two.js'], engine),
    linkPart(['part-sum.js'], engine),
  ]);
  expect(part).toMatchObject({ sum: 3 });
  expect(again).toBe(part);
  expect(log).toEqual(['two']);
});

it('something else in the place of a part is no part', async () => {
  usePartAddresses({ 'part-page.js': addressOf('export default 1') });
  const { code, message } = await failure(linkPart(['part-page.js'], () => ({})));
  expect(code).toBe('PART_MISSING');
  expect(message).toContain('is something else');
});

it('names the part that is not where it should be, and what to do', async () => {
  const { code, message } = await failure(linkPart(['part-nowhere.js'], () => ({})));
  expect(code).toBe('PART_MISSING');
  expect(message).toMatch(/part-nowhere\.js .*dist folder beside each other, or import 'cresset\/full'/);
});
