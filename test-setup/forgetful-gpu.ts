/** Makes a GPU device run out of memory where a test wants it to: as a real one does, with an invalid buffer and word of it later. */
export class ForgetfulGpu {
  /** Buffers asked for so far. */
  asked = 0;
  /** Whether there is no memory for the buffer of this number, counted from 0. */
  fails: (index: number) => boolean = () => false;
  /** What is open, by filter, and the errors that no filter has let through yet. */
  readonly #scopes: { filter: GPUErrorFilter; error: GPUError | null }[] = [];

  constructor(device: GPUDevice) {
    const create = device.createBuffer.bind(device);
    const push = device.pushErrorScope.bind(device);
    const pop = device.popErrorScope.bind(device);
    device.pushErrorScope = (filter) => {
      this.#scopes.push({ filter, error: null });
      return push(filter);
    };
    device.popErrorScope = async () => {
      const scope = this.#scopes.pop();
      return (await pop()) ?? scope?.error ?? null;
    };
    device.createBuffer = (descriptor) => {
      if (!this.fails(this.asked++)) return create(descriptor);
      const scope = this.#scopes.findLast(({ filter }) => filter === 'out-of-memory');
      if (!scope) throw new Error('a buffer was made that nobody watches');
      scope.error ??= { message: 'no memory for this test' } as GPUError;
      // A usage that no buffer can have: what comes back is as invalid as one without memory.
      push('validation');
      const invalid = create({ ...descriptor, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.MAP_WRITE });
      void pop();
      return invalid;
    };
  }
}
