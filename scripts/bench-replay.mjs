// The library's own time in a warm run, on a GPU that does nothing: `pnpm bench:replay [part of a name …]`, over models of ../shared where
// they are there. With `--visits` it is how many functions the first visits of a program call instead, there and on the host, and with
// `--groups` how many launches a warm run makes by who groups its operators.
import { fileURLToPath } from 'node:url';
import { benchInNode } from './bench-in-node.mjs';

const names = process.argv.slice(2);
const entry = ['visits', 'groups'].find((other) => names.includes(`--${other}`)) ?? 'replay';
await benchInNode(
  entry,
  fileURLToPath(new URL('../../shared/models/', import.meta.url)),
  names.filter((name) => !name.startsWith('--')),
);
