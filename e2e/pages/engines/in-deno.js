// Run by Deno: the checks with the built package, whose folder is the first argument; prints the outcomes as one line of JSON.
import { runChecks } from './checks.js';

const [dist, models] = Deno.args;
const [cresset, full] = await Promise.all([import(`${dist}cresset.js`), import(`${dist}full.js`)]);
const digits = {
  file: Deno.readFileSync(new URL('digits.pt', models)),
  expected: JSON.parse(Deno.readTextFileSync(new URL('digits.json', models))),
};
console.log(`outcomes ${JSON.stringify(await runChecks({ cresset, full }, digits))}`);
Deno.exit(0);
