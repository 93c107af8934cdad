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
        const out = { cycles: [] };
        const x = c.tensor(
          (() => {
            const a = new Float32Array(784);
            for (let r = 5; r < 22; r++) a[r * 28 + 14] = a[r * 28 + 13] = 1;
            return a;
          })(),
          [1, 1, 28, 28],
        );
        for (let i = 0; i < 5; i++) {
          const m = await c.load('/models/digits.pt');
          const [a, b] = await Promise.all([m.forward(x), m.forward(x)]);
          const before = (await c.memory()).deviceBytes;
          await m.dispose();
          out.cycles.push([
            before,
            (await c.memory()).deviceBytes,
            a.item === undefined,
            a.tolist()[0][1] === b.tolist()[0][1],
          ]);
        }
        const err = async (p) => {
          try {
            await p;
            return 'ok';
          } catch (e) {
            return [e.code, e.name, e instanceof c.CressetError, e.message.slice(0, 150)];
          }
        };
        out.html = await err(c.load('/index.html'));
        out.missing = await err(c.load('/nope.pt'));
        out.ckpt = await err(c.load('/shared/models/checkpoints/unet.pth'));
        const ac = new AbortController();
        const p = c.load('/shared/models/silero-vad/silero_vad.pt', { signal: ac.signal });
        ac.abort();
        out.abort = await err(p);
        const m = await c.load('/shared/models/lstm_lm/lstm_lm.pt?ranges=no');
        out.methods = m.methods();
        out.mods = m.namedModules().slice(0, 3);
        out.params = m.namedParameters().slice(0, 3);
        out.schema = await m.schema();
        out.badarg = await err(m.forward(3));
        out.badarg2 = await err(m.forward());
        out.badkw = await err(m.call('forward', [], { kwargs: { zork: 1 } }));
        out.code = (await m.code()).slice(0, 200);
        out.graph = (await m.graph()).slice(0, 200);
        const ex = await m.explain();
        out.explain = [ex.operators.slice(0, 5), ex.fusionGroups.length];
        const w = await m.parameter(out.params[0].name);
        out.param = [w.shape, w.data[0]];
        const page = await c.load('/models/digits.pt', { worker: false, device: 'cpu' });
        out.page = page.place;
        out.py = (await page.forward(x)).tolist()[0][1];
        return out;
      });
      console.log(prefix, kind, JSON.stringify(result, null, 0));
    }
  }
} finally {
  await browser.close();
  srv.kill();
}
