import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

/** Workspace packages are consumed as source, so nothing has to be built before tests or the playground run. */
export const aliases = [
  { find: /^cresset$/, replacement: path('packages/cresset/src/index.ts') },
  { find: /^cresset\/full$/, replacement: path('packages/cresset/src/full.ts') },
  { find: /^@cresset\/([a-z-]+)\/parts\/([a-z-]+)$/, replacement: path('packages/$1/src/parts/$2.ts') },
  { find: /^@cresset\/([a-z-]+)$/, replacement: path('packages/$1/src/index.ts') },
];
