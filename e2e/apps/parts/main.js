import { load, tensor } from 'cresset';
import { answer } from './digits.js';
import { modelsOfPage, show } from './page.js';

/** A model with operators that no page has from the start: what it needs of the library is fetched from the built application. */
async function spectrum() {
  const model = await load(new URL('fixtures/spectrum.pt', modelsOfPage()).href, { device: 'webgpu' });
  const { data } = await model.forward(tensor([1, 2, 3, 4]));
  return { spectrum: [...data], parts: model.parts.map(({ name }) => name) };
}

async function both() {
  return { ...(await answer({ load, tensor }, modelsOfPage())), ...(await spectrum()) };
}

void show(both());
