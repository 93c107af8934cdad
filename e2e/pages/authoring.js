import * as cresset from './dist/cresset.js';

globalThis.cresset = cresset;
