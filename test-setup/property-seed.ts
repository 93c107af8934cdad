// Properties are tried on the same inputs every time, so that a run of the tests says something about the code and not about chance.
// PROPERTY_SEED=N tries others; `pnpm fuzz` looks for more.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });
