/** The derivatives of operators, for whoever records what programs do. */
export * from '../derivatives/index.ts';
