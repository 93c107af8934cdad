export * from './parser.ts';
export * from './tree.ts';
export type { Dialect } from './string-literal.ts';
