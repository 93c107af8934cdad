import { load, tensor } from './node_modules/cresset/dist/full.js';
import { ask } from './digits.js';

class Digits extends AudioWorkletProcessor {
  constructor() {
    super();
    this.port.onmessage = ({ data: { file, drawing } }) =>
      ask({ load, tensor }, file, drawing).then(
        (result) => this.port.postMessage(result),
        (error) => this.port.postMessage({ error: `${error.stack}` }),
      );
  }

  process() {
    return false;
  }
}

registerProcessor('digits', Digits);
