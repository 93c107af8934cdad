// A worker's module of an application: the library's, and operators that it computes itself.
import { registerOperator, tensor } from './dist/worker.js';

registerOperator('own_ns::thread(Tensor x) -> Tensor', {
  host: (x) =>
    tensor(
      Float32Array.from(x.data, (value) => value + (typeof document === 'undefined' ? 100 : 0)),
      x.shape,
    ),
});
