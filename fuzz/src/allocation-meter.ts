/** Bytes of array buffers that were asked for since the last reset. */
export const allocations = { bytes: 0 };

/** What one buffer may take here; a machine with little memory answers so too. */
const MAX_BUFFER_BYTES = 64 << 20;

function note(bytes: number): void {
  if (bytes > MAX_BUFFER_BYTES) throw new RangeError('Array buffer allocation failed');
  allocations.bytes += bytes;
}

interface BufferConstructor {
  new (...args: never[]): object;
  readonly BYTES_PER_ELEMENT?: number;
}

/** Counts what a constructor of buffers is asked for, before it is given. */
function metered<Constructor extends BufferConstructor>(constructor: Constructor): Constructor {
  const width = constructor.BYTES_PER_ELEMENT ?? 1;
  return new Proxy(constructor, {
    construct(target, args: unknown[], newTarget) {
      const [first] = args;
      if (typeof first === 'number' && first > 0) note(first * width);
      else if (Array.isArray(first)) note(first.length * width);
      return Reflect.construct(target, args, newTarget === target ? target : newTarget) as object;
    },
  });
}

Object.assign(globalThis, {
  ArrayBuffer: metered(ArrayBuffer),
  Uint8Array: metered(Uint8Array),
  Int8Array: metered(Int8Array),
  Uint16Array: metered(Uint16Array),
  Int16Array: metered(Int16Array),
  Uint32Array: metered(Uint32Array),
  Int32Array: metered(Int32Array),
  Float32Array: metered(Float32Array),
  Float64Array: metered(Float64Array),
  BigInt64Array: metered(BigInt64Array),
  BigUint64Array: metered(BigUint64Array),
});
