import { chromium } from 'playwright';
import { spawn } from 'node:child_process';
import { launchOptions } from '../scripts/gpu-lanes.mjs';
const srv = spawn('node', ['e2e/page-server.mjs', '8177'], { stdio: 'inherit' });
await new Promise((r) => setTimeout(r, 500));
const browser = await chromium.launch(launchOptions);
try {
  const page = await browser.newPage();
  page.on('console', (m) => console.log('[console]', m.text()));
  page.on('pageerror', (e) => console.log('[pageerror]', e.message));
  for (const prefix of ['/strict']) {
    for (const kind of ['esm']) {
      await page.goto(`http://localhost:8177${prefix}/index.html`);
      if (kind === 'global') await page.addScriptTag({ url: `http://localhost:8177/dist/cresset.global.js` });
      else await page.addScriptTag({ url: `http://localhost:8177/zz-esm.js`, type: 'module' });
      await page.waitForFunction(() => globalThis.cresset);
      const result = await page.evaluate(async () => {
        const c = globalThis.cresset;
        const out = {};
        const t0 = performance.now();
        out.init = await c.init();
        const progress = [];
        const m = await c.load('/models/digits.pt', { onProgress: (p) => progress.push(p) });
        out.progress = progress;
        out.place = m.place;
        out.timings = m.loadTimings;
        out.methods = m.methods();
        out.schema = await m.schema();
        const x = c.tensor(
          (() => {
            const a = new Float32Array(784);
            for (let r = 5; r < 22; r++) a[r * 28 + 14] = a[r * 28 + 13] = 1;
            return a;
          })(),
          { shape: [1, 1, 28, 28] },
        );
        try {
          const y = await m.forward(x);
          out.y = Array.isArray(y) ? y.map((t) => t.tolist?.()) : (y.tolist?.() ?? y);
          out.profile = m.profile;
          const t = performance.now();
          for (let i = 0; i < 20; i++) await m.forward(x);
          out.ms = (performance.now() - t) / 20;
          out.p2 = m.profile;
        } catch (e) {
          out.error = e.code + ' ' + e.message;
        }
        try {
          const v = await c.load('/shared/models/silero-vad/silero_vad.pt');
          const chunk = c.tensor(
            Float32Array.from({ length: 512 }, (_, i) => Math.sin(i / 7) * 0.3),
            [1, 512],
          );
          const cpu = await c.load('/shared/models/silero-vad/silero_vad.pt', { device: 'cpu' });
          out.vad = [];
          for (let i = 0; i < 6; i++) {
            const t = performance.now();
            const a = (await v.forward(chunk, 16000)).item();
            const t2 = performance.now();
            const b = (await cpu.forward(chunk, 16000)).item();
            out.vad.push([a, b, t2 - t, performance.now() - t2]);
          }
          out.vadProfile = v.profile;
        } catch (e) {
          out.vadError = e.code + ' ' + e.message;
        }
        out.memory = await c.memory();
        await m.dispose();
        out.memoryAfter = await c.memory();
        out.total = performance.now() - t0;
        return out;
      });
      console.log(prefix, kind, JSON.stringify(result, null, 0));
    }
  }
} finally {
  await browser.close();
  srv.kill();
}
