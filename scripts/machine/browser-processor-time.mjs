/** Tells the processor seconds that all processes of a browser of Playwright's took so far, what compiles and collects garbage beside programs among it. */
export async function processorSecondsOf(browser) {
  const session = await browser.newBrowserCDPSession();
  return async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((total, { cpuTime }) => total + cpuTime, 0);
  };
}
