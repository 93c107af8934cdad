import { CressetError } from '@cresset/ir';
import type { CallResult, WireDeviceTensor, WorkerClient } from '@cresset/runtime';
import { Tensor, type DType, type TensorData } from './tensor.ts';
import { inMessages } from './value.ts';

/** What remains to be done where the page forgets a tensor. */
interface Remote {
  readonly client: WorkerClient;
  readonly id: number;
}

const release = ({ client, id }: Remote): void => {
  tensors.delete(id);
  void client.request('done', { type: 'release-tensors', tensors: [id] }).catch(() => undefined);
};

/** Those that were not disposed of, by their numbers. */
const tensors = new Map<number, WeakRef<DeviceTensor>>();
// What the page forgot must not be held for ever: the safety net below `dispose`, never the plan.
const forgotten = new FinalizationRegistry<Remote>(release);

/**
 * A result that stayed where it was made, in the memory of a GPU or of the worker: what `outputs: 'device'` gives. Its elements come to the page
 * when they are asked for. Given to a model of the same page, it is that tensor itself, without a copy: what the model writes to it is written. It lives until it is disposed of, also
 * where the model that made it goes before.
 */
export class DeviceTensor {
  readonly dtype: DType;
  #shape: readonly number[];
  readonly #remote: Remote;
  #isDisposed = false;

  /** Used by calls. */
  constructor({ id, dtype, shape }: WireDeviceTensor, client: WorkerClient) {
    this.dtype = dtype as DType;
    this.#shape = Object.freeze([...shape]);
    this.#remote = { client, id };
    tensors.set(id, new WeakRef(this));
    forgotten.register(this, this.#remote, this);
  }

  /** Gives tensors the sizes that they have now. */
  static reshape(reshaped: NonNullable<CallResult['reshaped']>): void {
    for (const [id, shape] of reshaped) {
      const tensor = tensors.get(id)?.deref();
      if (tensor) tensor.#shape = Object.freeze([...shape]);
    }
  }

  /** Sizes of the dimensions. */
  get shape(): readonly number[] {
    return this.#shape;
  }

  /** Number of dimensions. */
  get ndim(): number {
    return this.shape.length;
  }

  /** Number of elements. */
  get numel(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  /** @internal */
  get [inMessages](): WireDeviceTensor {
    const { id } = this.#open();
    return { kind: 'device-tensor', id, dtype: this.dtype, shape: this.shape } as WireDeviceTensor;
  }

  /** A copy of it on the page. Rejects with `TENSOR_DISPOSED` after `dispose`. */
  async tensor(): Promise<Tensor> {
    const { client, id } = this.#open();
    const { tensor } = await client.request('tensor', { type: 'device-tensor', tensor: id });
    return new Tensor(tensor.data, tensor.shape, tensor.dtype as DType, tensor.quantizer);
  }

  /** A copy of its elements, as {@link Tensor.data}. Rejects with `TENSOR_DISPOSED` after `dispose`. */
  async data(): Promise<TensorData> {
    return (await this.tensor()).data;
  }

  /** Gives it up. Its memory is free once no model holds it either. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    forgotten.unregister(this);
    release(this.#remote);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `DeviceTensor(shape=[${this.shape.join(', ')}], dtype=${this.dtype})`;
  }

  #open(): Remote {
    if (this.#isDisposed) throw new CressetError('TENSOR_DISPOSED', 'this tensor was disposed of');
    return this.#remote;
  }
}
