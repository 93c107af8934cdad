/** Seconds that the processor has worked for this process: unlike the clock, it does not run while others have their turn. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
