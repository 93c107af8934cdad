import { answer, modelsOfPage, show } from './digits.js';

void show(answer(globalThis.cresset, modelsOfPage()));
