import { modelsOfPage, show } from './page.js';

/** The page gives the model to a processor, which answers by its port; nothing needs to sound for that. */
async function ask() {
  const context = new OfflineAudioContext(1, 128, 44100);
  await context.audioWorklet.addModule('processor.js');
  const { port } = new AudioWorkletNode(context, 'digits');
  const answered = new Promise((resolve, reject) => {
    port.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
  });
  const models = modelsOfPage();
  const file = await (await fetch(new URL('digits.pt', models))).arrayBuffer();
  const drawing = await (await fetch(new URL('digits.json', models))).json();
  port.postMessage({ file, drawing }, [file]);
  return answered;
}

void show(ask());
