export * from './builders.ts';
export * from './device.ts';
export * from './expr.ts';
export * from './kernel.ts';
export * from './operand.ts';
export * from './scalar-functions.ts';
