// Writes docs/operators.md, and the table of which names need which part of the library, from the table of operators: `pnpm docs:operators`.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const server = await createServer({
  configFile: fromRoot('vite.config.ts'),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  appType: 'custom',
  logLevel: 'error',
});
const { operatorPage } = await server.ssrLoadModule(fromRoot('packages/operators/src/documentation/operator-page.ts'));
writeFileSync(fromRoot('docs/operators.md'), operatorPage());
const { partTable, sourcePartTable } = await server.ssrLoadModule(
  fromRoot('packages/operators/src/documentation/part-table-text.ts'),
);
writeFileSync(fromRoot('packages/operators/src/part-table.ts'), partTable());
writeFileSync(fromRoot('packages/operators/src/source-part-table.ts'), sourcePartTable());
await server.close();
