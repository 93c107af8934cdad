import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// Nothing but what an application needs anyway: the library has to work without any setting of its own.
export default defineConfig({
  build: { target: 'es2022' },
  publicDir: fileURLToPath(new URL('../../apps/playground/public', import.meta.url)),
});
