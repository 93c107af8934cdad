export type { ShaderText } from './nest-writer.ts';
export * from './shader.ts';
export * from './uniform-layout.ts';
