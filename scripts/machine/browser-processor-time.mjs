import { setTimeout } from 'node:timers/promises';

/** Tells the processor seconds that all processes of a browser of Playwright's took so far, what compiles and collects garbage beside programs among it. */
export async function processorSecondsOf(browser) {
  const session = await browser.newBrowserCDPSession();
  return async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((total, { cpuTime }) => total + cpuTime, 0);
  };
}

/**
 * Waits until a browser does nothing by itself, for ten seconds at most. With a window Chromium opens pages of its own, which take half a second of the
 * processor beside what is loaded there, and slow it down by as much on a machine with few cores; somebody who visits a page has them already.
 * @param processorSeconds as `processorSecondsOf` gives it; it counts by hundredths
 */
export async function untilIdle(processorSeconds) {
  let before = await processorSeconds();
  for (let idle = 0, waits = 0; idle < 3 && waits < 50; waits++) {
    await setTimeout(200);
    const now = await processorSeconds();
    idle = now - before < 0.015 ? idle + 1 : 0;
    before = now;
  }
}
