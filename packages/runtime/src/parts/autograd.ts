/** Gradients of what programs compute. */
export * from '../autograd/tape.ts';
export { asksForGradients } from '../autograd/recording/gradients-within.ts';
