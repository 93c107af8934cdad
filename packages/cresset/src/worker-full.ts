import { registerAllOperators } from '@cresset/operators';
import { scopePort, serve } from './worker-start.ts';

registerAllOperators();
serve(scopePort(self as unknown as DedicatedWorkerGlobalScope));
