import { load, tensor } from 'cresset';
import { answer, modelsOfPage, show } from './digits.js';

void show(answer({ load, tensor }, modelsOfPage()));
