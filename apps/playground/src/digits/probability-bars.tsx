const percent = (probability: number) => `${(100 * probability).toFixed(probability > 0.9995 ? 0 : 1)} %`;

/** One bar for each class, the likeliest marked. */
export function ProbabilityBars({ probabilities }: { probabilities: readonly number[] | null }) {
  const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
  return (
    <ol class="bars" aria-label="Probability of each digit">
      {Array.from({ length: 10 }, (_, digit) => {
        const probability = probabilities?.[digit];
        return (
          <li key={digit} class={digit === best ? 'best' : undefined}>
            <span class="bar-name">{digit}</span>
            <span class="bar-track" aria-hidden="true">
              <span class="bar" style={{ width: `${100 * (probability ?? 0)}%` }} />
            </span>
            <span class="bar-value">{probability === undefined ? '–' : percent(probability)}</span>
          </li>
        );
      })}
    </ol>
  );
}
