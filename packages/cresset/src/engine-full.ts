import { provideParts } from './engine/all-parts.ts';

/** The engine with all its parts. */
export * from './engine.ts';

provideParts();
