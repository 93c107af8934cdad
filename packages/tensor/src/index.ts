export { Complex } from '@cresset/ir';
export * from './byte-string.ts';
export * from './device-memory.ts';
export * from './float16.ts';
export * from './future.ts';
export * from './ivalue.ts';
export * from './scalar-type.ts';
export * from './storage.ts';
export * from './tensor.ts';
