// Runs the checks of ./engines in this page and posts what came of them.
import * as cresset from './dist/cresset.js';
import * as full from './dist/full.js';
import { runChecks } from './engines/checks.js';

const [file, expected] = await Promise.all([
  fetch('/models/digits.pt').then(async (response) => new Uint8Array(await response.arrayBuffer())),
  fetch('/models/digits.json').then((response) => response.json()),
]);
const outcomes = await runChecks({ cresset, full }, { file, expected }).catch((error) => [
  { name: 'all', error: String(error), milliseconds: 0 },
]);
await fetch('/report', { method: 'POST', body: JSON.stringify(outcomes) });
