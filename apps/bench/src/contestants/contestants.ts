import type { Contestant } from './contestant.ts';
import { cresset } from './cresset.ts';
import { jax } from './jax.ts';
import { onnxRuntime } from './onnx-runtime.ts';
import { pytorch } from './pytorch.ts';
import { tensorFlow } from './tensorflow.ts';

/** Everything that is measured; the first is what the others are held against. */
export const contestants: readonly Contestant[] = [
  cresset('webgpu'),
  onnxRuntime('webgpu'),
  tensorFlow('webgpu'),
  jax('webgpu'),
  cresset('cpu'),
  onnxRuntime('wasm'),
  tensorFlow('wasm'),
  jax('wasm'),
  pytorch(),
];
