// Times runs that take gradients on the device of the host, by the tape alone and with groups of operators: `pnpm bench:training [part of a name …]`.
import { fileURLToPath } from 'node:url';
import { benchInNode } from './bench-in-node.mjs';

const fixtures = fileURLToPath(new URL('../packages/cresset/src/training/fixtures/', import.meta.url));
await benchInNode('training', fixtures, process.argv.slice(2));
