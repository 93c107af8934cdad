import { load, tensor } from 'cresset';
import { answer } from './digits.js';
import { modelsOfPage, show } from './page.js';

void show(answer({ load, tensor }, modelsOfPage()));
