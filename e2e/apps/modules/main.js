import { load, tensor } from './node_modules/cresset/dist/cresset.js';
import { answer } from './digits.js';
import { modelsOfPage, show } from './page.js';

void show(answer({ load, tensor }, modelsOfPage()));
