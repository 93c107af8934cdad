import * as cresset from './dist/full.js';

globalThis.fullCresset = cresset;
