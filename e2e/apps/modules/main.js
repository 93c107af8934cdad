import { load, tensor } from './node_modules/cresset/dist/cresset.js';
import { answer, modelsOfPage, show } from './digits.js';

void show(answer({ load, tensor }, modelsOfPage()));
