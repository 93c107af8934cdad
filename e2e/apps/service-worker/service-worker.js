import { load, tensor } from './node_modules/cresset/dist/cresset.js';
import './node_modules/cresset/dist/provide-engine.js';
import { answer } from './digits.js';

addEventListener('message', (event) => {
  const [port] = event.ports;
  const done = answer({ load, tensor }, new URL('models/', location.href)).then(
    (result) => port.postMessage(result),
    (error) => port.postMessage({ error: `${error.stack}` }),
  );
  event.waitUntil(done);
});
