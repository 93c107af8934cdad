const width = 300;
const height = 80;

/** The loss of each step, from the first at the left to the last at the right. */
export function LossCurve({ losses, steps }: { losses: readonly number[]; steps: number }) {
  const highest = Math.max(...losses);
  const points = losses.map((loss, step) => {
    const x = (width * step) / Math.max(1, steps - 1);
    const y = height * (1 - loss / highest);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const told = `Step ${losses.length} of ${steps}: loss ${losses.at(-1)!.toFixed(3)}, ${losses[0].toFixed(3)} at first`;
  return (
    <figure class="loss-curve">
      <svg viewBox={`0 -2 ${width} ${height + 4}`} role="img" aria-label="Loss of each step">
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption>{told}</figcaption>
    </figure>
  );
}
