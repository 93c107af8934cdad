export type { ShaderText } from './shader-writer.ts';
export { writeJoinedShader } from './joined-shader.ts';
export { writeShader } from './shader.ts';
export * from './uniform-layout.ts';
