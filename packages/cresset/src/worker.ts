import { scopePort, serve } from './worker-start.ts';

serve(scopePort(self as unknown as DedicatedWorkerGlobalScope));
