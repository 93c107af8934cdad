import type { ModelPlace, RunProfile } from 'cresset';
import { deviceName } from '../pieces/device-name.ts';

const operatorList = (operators: RunProfile['hostFallback']) =>
  operators.map(([name, count]) => (count === 1 ? name : `${name} × ${count}`)).join(', ');

const total = (operators: RunProfile['hostFallback']) => operators.reduce((sum, [, count]) => sum + count, 0);

/** What the last run took and did. */
export function RunFigures({ profile, place }: { profile: RunProfile; place: ModelPlace }) {
  const figures: [name: string, value: string, isWide?: boolean][] = [
    ['time', `${profile.milliseconds.toFixed(1)} ms`],
    ['dispatches', String(profile.dispatches)],
    ['submits', String(profile.submits)],
    ['uploads', String(profile.uploads)],
    ['readbacks', String(profile.readbacks)],
    ['small, on the host', String(total(profile.hostSmall))],
    ['device', `${deviceName(place)}, ${place.thread === 'worker' ? 'in a Worker' : 'in the page'}`, true],
  ];
  if (profile.hostDouble.length > 0) {
    figures.push(['in double precision, on the host', operatorList(profile.hostDouble), true]);
  }
  if (profile.hostFallback.length > 0) {
    figures.push(['fell back to the host', operatorList(profile.hostFallback), true]);
  }
  return (
    <dl class="figures" aria-label="The last run">
      {figures.map(([name, value, isWide]) => (
        <div key={name} class={isWide ? 'wide' : undefined}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
