import * as cresset from './dist/cresset.js';

// The specs drive the library through this name, as code of a page would.
globalThis.cresset = cresset;
