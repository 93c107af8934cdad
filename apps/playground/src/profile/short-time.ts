/** A time with as many digits as are of use: `0.12 ms`, `3.4 ms`, `120 ms`, `2.3 s`. */
export function shortTime(milliseconds: number): string {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds >= 100) return `${milliseconds.toFixed(0)} ms`;
  return `${milliseconds.toFixed(milliseconds >= 10 ? 1 : 2)} ms`;
}

/** Counts with a unit in thousands: `1.2 GFLOP`, `34 kB`. */
export function shortCount(count: number, unit: string): string {
  const prefixes = ['', 'k', 'M', 'G', 'T'];
  const power = count < 1 ? 0 : Math.min(prefixes.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${power > 0 && value < 10 ? value.toFixed(1) : value.toFixed(0)} ${prefixes[power]}${unit}`;
}
