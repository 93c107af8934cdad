import { answer } from './digits.js';
import { modelsOfPage, show } from './page.js';

void show(answer(globalThis.cresset, modelsOfPage()));
