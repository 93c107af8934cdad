/** Gradients of what programs compute. */
export * from '../autograd/tape.ts';
