// What every application here does with the library: it asks the digit classifier about one drawing, and shows the answer.

/**
 * Loads the model and runs it.
 * @param {Pick<typeof import('cresset'), 'load' | 'tensor'>} library as this environment has it
 * @param {unknown} file the model, as `load` takes it
 * @param {{ picture: number[], pictureScale: number, shape: number[] }} drawing
 */
export async function ask({ load, tensor }, file, { picture, pictureScale, shape }) {
  const pixels = tensor(
    Float32Array.from(picture, (value) => value / pictureScale),
    { shape },
  );
  // A software GPU would not be chosen, and it is what runs these applications where there is no other.
  const model = await load(file, { device: globalThis.navigator?.gpu ? 'webgpu' : 'auto' });
  const probabilities = await model.forward(pixels);
  const { place, lastRun: profile } = model;
  const seen = await model.call('centred', [pixels]);
  await model.dispose();
  return {
    probabilities: [...probabilities.data],
    seen: [...seen.data],
    place,
    hostFallback: place.device === 'webgpu' ? profile.hostFallback.map(([name]) => name) : [],
  };
}

/** The same in a browser, with the files of a folder whose address ends in a slash. */
export async function answer(library, models) {
  const drawing = await (await fetch(new URL('digits.json', models))).json();
  return ask(library, new URL('digits.pt', models).href, drawing);
}
