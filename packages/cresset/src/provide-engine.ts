import * as engine from './engine.ts';
import { provideEngine } from './index.ts';

// `import 'cresset/engine'` gives the thread the engine, where it could not be imported later: in a service worker.
provideEngine(engine);
