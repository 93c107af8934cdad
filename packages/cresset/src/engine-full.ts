// First: what follows is evaluated with what this adds.
import './engine/worklet-scope.ts';
import { provideParts } from './engine/all-parts.ts';

/** The engine with all its parts. */
export * from './engine.ts';

provideParts();
