export type { ShaderText } from './shader-writer.ts';
export * from './shader.ts';
export * from './uniform-layout.ts';
