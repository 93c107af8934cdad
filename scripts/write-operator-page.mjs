// Writes docs/operators.md, and what the core edition knows of the full one, from the table of operators: `pnpm docs:operators`.
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
const { fullEditionHashes } = await server.ssrLoadModule(
  fromRoot('packages/operators/src/table/full-edition-table.ts'),
);
writeFileSync(fromRoot('packages/operators/src/table/full-edition-hashes.ts'), fullEditionHashes());
await server.close();
