// docs/environments.md: how the library is used in each environment, and what came of running its application there.
import { writeFileSync } from 'node:fs';
import { limit } from './environments.mjs';

const file = new URL('../../docs/environments.md', import.meta.url);

const introduction = `# Where Cresset runs

In every environment the program is the same; \`npm install cresset\`, then

\`\`\`ts
import { load, tensor } from 'cresset';
\`\`\`

and nothing is to be said about workers or files. What some environments need besides is in the last column.

This page is written by \`pnpm apps --write-docs\`. It puts together an application for each row (\`e2e/apps\`), with the packed library as an
installation has it, builds it with the tool's own command and without a setting for this library, opens it in Chromium, and asks the digit
classifier about one drawing. *Built* and *development server* say in which thread the model ran; the answer was PyTorch's wherever one is named. *Transferred*
is what page and worker fetched together, compressed with gzip, without the model; for frameworks, what the page fetches without the library is taken off.
A page whose models need common operators stays within ${limit / 1000} kB everywhere where it runs on a GPU; the host takes 16 kB more, which compile WebAssembly. The rows *with a part of the library* load a second model, which needs a
rare family (Fourier transforms, and complex numbers with them); those parts are in their figures.
`;

const escaped = (text) => text.replaceAll('|', '\\|');

/** What the table says of a run. */
function outcome(environment, record) {
  if (!record) return '';
  if (record.isMissing) return 'not installed';
  if (record.isFaulty || !record.thread) return '**fails**';
  return record.thread === 'page' ? (environment.ownThread ?? '**page**') : record.thread;
}

function line(environment, records) {
  const { key, title, add = '' } = environment;
  const [built, server] = [records[key], records[`${key}-dev`]];
  const cells = [
    title,
    built.version || server?.version || '',
    outcome(environment, built),
    outcome(environment, server),
    built.bytes === null ? '' : `${(built.bytes / 1000).toFixed(0)} kB`,
    add,
  ];
  return `| ${cells.map(escaped).join(' | ')} |`;
}

/**
 * @param {import('./environments.mjs').Environment[]} environments
 * @param {Record<string, { version: string, thread: string | null, bytes: number | null, isFaulty: boolean, isMissing: boolean }>} records
 *   what came of each row of scripts/check-apps.mjs
 */
export function writeEnvironmentsPage(environments, records) {
  const head = [
    '| environment | version | built | development server | transferred | to be added |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  const lines = environments.map((environment) => line(environment, records));
  writeFileSync(file, `${introduction}\n${[...head, ...lines].join('\n')}\n`);
}
