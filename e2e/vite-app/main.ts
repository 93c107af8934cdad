import * as cresset from 'cresset';

// The specs drive the library through this name, as code of the application would.
Object.assign(globalThis, { cresset });
