// Times the host, in TypeScript and in WebAssembly, over programs that are all loops: `pnpm bench:host [part of a name]`.
import { benchInNode } from './bench-in-node.mjs';

await benchInNode('host-loops', process.argv[2] ?? '');
