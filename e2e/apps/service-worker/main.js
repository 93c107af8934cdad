import { show } from './page.js';

async function ask() {
  await navigator.serviceWorker.register('service-worker.js', { type: 'module' });
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve, reject) => {
    port1.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
  });
  active.postMessage('digits', [port2]);
  return answered;
}

void show(ask());
