import { hint, settle, symMul, type SymInt, type SymNode } from './sym-int.ts';
import { CressetError } from '@cresset/ir';
import {
  deviceByteLength,
  hostElementSize,
  type DeviceBuffer,
  type DeviceLayout,
  type DeviceMemory,
} from './device-memory.ts';
import { elementSize, hostArray, newHostArray, realType, type HostArray, type ScalarType } from './scalar-type.ts';

interface DeviceCopy {
  readonly memory: DeviceMemory;
  readonly buffer: DeviceBuffer;
  /** A device lays elements out by dtype, so the copy serves tensors of that dtype only, and complex ones of it. */
  readonly layout: DeviceLayout;
}

/** Where the bytes of a storage come from when something first needs them: a record of a file. */
export interface StorageSource {
  /** Size in host layout, bytes. */
  readonly byteLength: number;
  /** Reads the bytes, into memory of their own. Rejects with a CressetError. */
  read(): Promise<ArrayBuffer>;
  /** The bytes are on a device, and were given up on the host. */
  released(): void;
}

/**
 * Memory on a device in which storages have their elements row by row, with room behind each row. Storages whose rows begin alike share it: one that grew
 * out of another has more of each row.
 */
export interface RowMemory {
  /** The memory itself, rows and room. */
  readonly storage: Storage;
  readonly rows: number;
  /** So many elements of each row, one row behind the other, in a storage of its own. */
  packed(row: number): Storage;
  /** Another storage has its elements here. */
  take(): void;
  /** One of them has its elements here no longer. */
  give(): void;
}

/** Where a storage has its elements in such memory. */
export interface RowsOfStorage {
  readonly memory: RowMemory;
  /** Elements of each row that are the storage's. */
  readonly row: number;
}

/** Host copies of what was read from a source and went to a device stay up to this size: small work is done on the host. */
export const KEPT_ON_HOST_BYTES = 64 << 10;

// A storage that nobody disposed of must not keep device memory for ever: the safety net below, never the plan.
const abandoned = new FinalizationRegistry<DeviceCopy>(({ memory, buffer }) => memory.release(buffer));

/** Is told whenever a program's elements are looked at on the host, or given out there to be written. */
export interface HostAccessWatch {
  reads(storage: Storage): void;
  writes(storage: Storage): void;
  /** What is done goes by the size of a storage. */
  measures(storage: Storage): void;
  /** Whether a storage is another one each time, so that nothing of what is done may go by its elements. */
  isFoundAnew(storage: Storage): boolean;
}

/** Is asked before memory for tensors is made, and told of each storage. */
export interface MemoryMeter {
  /** Throws where so many bytes more are too many. */
  take(byteLength: number): void;
  made(storage: Storage): void;
  /** As `take`, for memory that an operator in progress needs beside its tensors. */
  takeScratch(byteLength: number): void;
  /** So many bytes of that memory are no longer needed. */
  giveUpScratch(byteLength: number): void;
}

/** Rounds elements of float32 to float16 where they are; false, and as they were, where one of them is beyond its range. */
export type Narrowing = (elements: Float32Array) => boolean;

let watch: HostAccessWatch | null = null;
let meter: MemoryMeter | null = null;
let lastSerial = 0;

/** Has accesses told to `watcher` from now on; null for nobody. */
export function watchHostAccess(watcher: HostAccessWatch | null): void {
  watch = watcher;
}

/** Whether what is recorded finds another storage in the place of this one each time. */
export const isFoundAnew = (storage: Storage): boolean => watch?.isFoundAnew(storage) ?? false;

/** Has `next` asked for memory from now on, nobody where that is null; returns who was asked before. */
export function meterMemory(next: MemoryMeter | null): MemoryMeter | null {
  const before = meter;
  meter = next;
  return before;
}

/** Counts memory that an operator works in and that is not its own. Throws where it is too much. */
export const takeScratch = (byteLength: number): void => meter?.takeScratch(byteLength);

/** An array of zeros for an operator to work in. */
export function scratch<Elements>(
  type: { new (length: number): Elements; readonly BYTES_PER_ELEMENT: number },
  length: number,
): Elements {
  takeScratch(length * type.BYTES_PER_ELEMENT);
  return new type(length);
}

/** The serial number of the storage that was made last. */
export function lastStorageSerial(): number {
  return lastSerial;
}

/** Counts no longer what `scratch` gave. An operator that works in one array after the other gives them up, one that ends need not. */
export function giveUpScratch(...arrays: readonly { readonly byteLength: number }[]): void {
  for (const { byteLength } of arrays) meter?.giveUpScratch(byteLength);
}

/**
 * The memory behind one or several tensors (c10::StorageImpl).
 *
 * A storage has a copy on the host, one on a device, or both while they are equal; one of a large file has neither until
 * something needs it. Whoever reads asks for the copy where the work is done; whoever writes says so, which makes the other
 * copy stale. Going up to the device costs no wait; coming down and reading from the file do.
 */
export class Storage {
  /** The host copy as an array of the dtype it was last asked for. An engine makes the buffer of a small array only when that is asked
   * for, which takes ten times as long as the array. */
  #host: HostArray | null;
  #hostType: ScalarType;
  #copy: DeviceCopy | null = null;
  /** The same elements once more, or in the place of those. */
  #rows: RowsOfStorage | null = null;
  #disposed = false;
  #writes = 0;
  /** Of a storage that is read when it is needed: kept until its bytes are written to, since a device may lose them. */
  #source: StorageSource | null = null;
  #isOfFile = false;
  #reading: Promise<void> | null = null;
  /** Its only copy was on a device that turned out to have no memory for it. */
  #isLost = false;
  #narrowing: Narrowing | null = null;
  #byteLength: number;
  #symBytes: SymNode | null = null;
  /** Storages are numbered as they are made. */
  readonly serial = ++lastSerial;

  /** @param byteLength size in host layout, bytes. */
  private constructor(byteLength: number, host: HostArray | null, dtype: ScalarType) {
    this.#byteLength = byteLength;
    this.#host = host;
    this.#hostType = dtype;
    meter?.made(this);
  }

  static onHost(bytes: ArrayBuffer): Storage {
    meter?.take(bytes.byteLength);
    return new Storage(bytes.byteLength, new Uint8Array(bytes), 'uint8');
  }

  /** As `onHost`, of what was read from a file and cannot be read again. */
  static ofFile(bytes: ArrayBuffer): Storage {
    const storage = Storage.onHost(bytes);
    storage.#isOfFile = true;
    return storage;
  }

  /** A storage of `count` elements, all zero. */
  static zeros(dtype: ScalarType, count: number): Storage {
    meter?.take(count * elementSize(dtype));
    const array = newHostArray(dtype, count);
    return new Storage(array.byteLength, array, dtype);
  }

  /** Stands for memory that a plan has of the device: it has no elements itself. */
  static planned(dtype: ScalarType, count: SymInt): Storage {
    return new Storage(hint(count) * elementSize(dtype), null, dtype).#withSymbols(dtype, count);
  }

  /** A storage whose elements lie in rows of memory that is there. */
  static inRows(dtype: ScalarType, rows: RowsOfStorage): Storage {
    const storage = new Storage(rows.memory.rows * rows.row * elementSize(dtype), null, dtype);
    storage.moveToRows(rows);
    return storage;
  }

  /** A storage whose bytes are read when something first needs them: `toHost()` has to be awaited before they are used. */
  static fromSource(source: StorageSource): Storage {
    const storage = new Storage(source.byteLength, null, 'uint8');
    storage.#source = source;
    storage.#isOfFile = true;
    return storage;
  }

  /** A storage of `count` elements whose contents the device is about to write. */
  static onDevice(memory: DeviceMemory, dtype: ScalarType, count: SymInt): Storage {
    const storage = new Storage(hint(count) * elementSize(dtype), null, dtype).#withSymbols(dtype, count);
    const layout = realType(dtype);
    storage.#adopt({ memory, layout, buffer: storage.#allocate(memory, layout) });
    return storage;
  }

  #withSymbols(dtype: ScalarType, count: SymInt): this {
    if (typeof count !== 'number') this.#symBytes = symMul(count, elementSize(dtype)) as SymNode;
    return this;
  }

  /** Size in host layout, bytes. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** As `byteLength`, for who goes by the number: what is recorded then holds for storages of this size alone. */
  get guardedByteLength(): number {
    watch?.measures(this);
    if (this.#symBytes) settle(this.#symBytes);
    return this.#byteLength;
  }

  /** Its size in host layout, bytes, where that may be another number the next time. */
  get symBytes(): SymNode | null {
    return this.#symBytes;
  }

  /** The recording that its size was an expression in is over. */
  forgetSymbols(): void {
    if (this.#symBytes?.env.isClosed) this.#symBytes = null;
  }

  /** Whether the host copy is there and up to date. */
  get isOnHost(): boolean {
    return this.#host !== null;
  }

  /** Whether a device copy is there and up to date. */
  get isOnDevice(): boolean {
    return this.#deviceCopy() !== null || this.rows !== null;
  }

  /** The rows that its elements lie in; null where they lie in none. */
  get rows(): RowsOfStorage | null {
    const rows = this.#rows;
    if (!rows || rows.memory.storage.isOnDevice) return rows;
    this.#leaveRows();
    this.#isLost = !this.#host && !this.#source && !this.#copy;
    return null;
  }

  /** Its elements, which stay what they are, are in rows of this memory now. */
  moveToRows(rows: RowsOfStorage): void {
    rows.memory.take();
    this.#leaveRows();
    this.#rows = rows;
  }

  #leaveRows(): void {
    this.#rows?.memory.give();
    this.#rows = null;
  }

  /** Gets a copy on the device whose rows lie one behind the other, where its elements lie in rows with room alone. */
  #pack(): void {
    const rows = this.#host || this.#deviceCopy() ? null : this.rows;
    if (!rows) return;
    const packed = rows.memory.packed(rows.row);
    const copy = packed.#copy!;
    packed.#forgetDeviceCopy();
    this.#adopt(copy);
  }

  /** Whether nothing has asked for its bytes so far. */
  get isUnread(): boolean {
    return this.#source !== null && !this.#host && !this.#deviceCopy() && !this.#reading;
  }

  /**
   * Bytes on the host and on a device together; of one that is not read yet, those that it will take. Where the
   * device's memory is the host's, what lies in both counts once: it is there twice only as long as it comes and goes.
   */
  get heldBytes(): number {
    if (this.#disposed) return 0;
    const onHost = this.#host?.byteLength ?? 0;
    const copy = this.#deviceCopy();
    const onDevice = (copy?.buffer.byteLength ?? 0) + (this.rows ? this.byteLength : 0);
    const held = copy?.memory.isOfHost ? Math.max(onHost, onDevice) : onHost + onDevice;
    return held || !this.#source ? held : this.byteLength;
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** How often it was asked for in order to be written; unchanged means that nobody wrote to it. */
  get writes(): number {
    return this.#writes;
  }

  /** Whether its elements of float32 are rounded to float16, which is how they lie on a device; maybe, of one that is not read yet. */
  get isNarrow(): boolean {
    return this.#narrowing !== null;
  }

  /** How elements of a dtype lie on a device, of a storage that is read. */
  layoutOf(dtype: ScalarType): DeviceLayout {
    const real = realType(dtype);
    return this.#narrowing && real === 'float32' ? 'half' : real;
  }

  /** Has its elements of float32 rounded, now or when they are read, and lie so on devices until somebody writes to it. */
  narrow(narrowing: Narrowing): void {
    this.#narrowing = narrowing;
    if (this.#host) this.#round();
  }

  /** Has elements that are on the host lie on devices as kernels write them from now on. */
  widen(): void {
    this.#hostCopy();
    this.#dropDeviceCopy();
    this.#narrowing = null;
  }

  #round(): void {
    this.#dropDeviceCopy();
    if (!this.#narrowing!(this.#arrayOf('float32') as Float32Array)) this.#narrowing = null;
  }

  /** The bytes on the host, for reading. Throws where they are only on the device: `toHost()` must have been awaited. */
  hostBytes(): ArrayBuffer {
    watch?.reads(this);
    return this.#hostCopy().buffer as ArrayBuffer;
  }

  /** As `hostBytes`, as an array of as many whole elements as there are. */
  hostArray(dtype: ScalarType): HostArray {
    watch?.reads(this);
    return this.#arrayOf(dtype);
  }

  #arrayOf(dtype: ScalarType): HostArray {
    const array = this.#hostCopy();
    if (this.#hostType === dtype) return array;
    this.#hostType = dtype;
    return (this.#host = hostArray(dtype, array.buffer, 0, Math.floor(this.byteLength / elementSize(dtype))));
  }

  #hostCopy(): HostArray {
    if (this.#host) return this.#host;
    if (this.#isLost) throw lost();
    throw new CressetError(
      'STORAGE_NOT_ON_HOST',
      this.#disposed
        ? 'this tensor was disposed of'
        : this.#deviceCopy() || !this.#source
          ? 'this tensor lies on the device; await its data before reading it on the host'
          : 'this tensor was not read from its file yet; await its data before reading it on the host',
    );
  }

  /** Another storage on the host with the same bytes. Throws where they are only on the device. */
  copyOnHost(): Storage {
    return Storage.onHost((this.#hostCopy().buffer as ArrayBuffer).slice(0));
  }

  /** The bytes on the host, for writing: the device copy, if any, is dropped. */
  hostBytesForWriting(): ArrayBuffer {
    this.#noteWrite();
    return this.#hostCopy().buffer as ArrayBuffer;
  }

  /** As `hostBytesForWriting`, as an array. */
  hostArrayForWriting(dtype: ScalarType): HostArray {
    this.#noteWrite();
    return this.#arrayOf(dtype);
  }

  /**
   * Gets zeros behind what it holds, which is on the host (StorageImpl::resize_). Every tensor over it stays where it is.
   *
   * @param byteLength the new size, bytes
   */
  grow(byteLength: number): void {
    this.#noteWrite();
    meter?.take(byteLength - this.#byteLength);
    const larger = new Uint8Array(byteLength);
    larger.set(new Uint8Array(this.#hostCopy().buffer));
    this.#byteLength = byteLength;
    this.#takeHostCopy(larger.buffer);
  }

  /** Whoever took the bytes on the host has them now: only the device copy stays, which has to be there. */
  giveUpHostBytes(): void {
    this.#host = null;
  }

  #noteWrite(): void {
    watch?.writes(this);
    this.#hostCopy();
    this.#dropDeviceCopy();
    this.#leaveRows();
    this.#source = null;
    this.#narrowing = null;
    this.#writes++;
  }

  #takeHostCopy(bytes: ArrayBuffer): void {
    this.#host = new Uint8Array(bytes);
    this.#hostType = 'uint8';
  }

  /** Brings the host copy up to date. The device copy stays. Rejects with a CressetError. */
  async toHost(): Promise<void> {
    this.#pack();
    const copy = this.#deviceCopy();
    if (this.#host || this.#disposed) return;
    if (this.#isLost) throw lost();
    if (!copy) return this.#source ? (this.#reading ??= this.#read(this.#source)) : undefined;
    const writes = this.#writes;
    const bytes = await copy.memory.download(copy.buffer, copy.layout, this.byteLength / hostElementSize(copy.layout));
    if (this.#disposed || this.#host) return;
    // Work enqueued while the copy travelled may have written the buffer again: then it has to be fetched once more.
    if (this.#writes === writes) this.#takeHostCopy(bytes);
    else await this.toHost();
  }

  async #read(source: StorageSource): Promise<void> {
    try {
      const bytes = await source.read();
      if (this.#disposed) return;
      this.#takeHostCopy(bytes);
      if (this.#narrowing) this.#round();
    } finally {
      // After a failure somebody may try again.
      this.#reading = null;
    }
  }

  /** The device buffer for reading, made and filled on first use. `layout` is what `layoutOf` says of the tensor that reads. */
  deviceBuffer(memory: DeviceMemory, layout: DeviceLayout): DeviceBuffer {
    this.#pack();
    const copy = this.#deviceCopy();
    const own = layoutOfParts(layout);
    if (copy && copy.memory === memory && copy.layout === own) return copy.buffer;
    const { buffer: host } = this.#hostCopy();
    this.#dropDeviceCopy();
    const buffer = this.#allocate(memory, own, true);
    memory.upload(buffer, own, new Uint8Array(host));
    this.#adopt({ memory, layout: own, buffer });
    this.#giveUpHostCopy(own, memory);
    return buffer;
  }

  /** Memory on a device, where the parts of complex numbers lie beside each other as they do on the host. */
  #allocate(memory: DeviceMemory, layout: DeviceLayout, isOnlyRead = false): DeviceBuffer {
    const byteLength = deviceByteLength(memory, layout, this.byteLength);
    meter?.take(byteLength);
    return memory.allocate(byteLength, isOnlyRead);
  }

  /**
   * What came from a file need not lie in memory twice, except where a device cannot give it back as it was: a GPU may turn out to have had no memory
   * for what cannot be read again.
   */
  #giveUpHostCopy(layout: DeviceLayout, { isOfHost }: DeviceMemory): void {
    if (!this.#isOfFile || !(this.#source || isOfHost) || this.byteLength <= KEPT_ON_HOST_BYTES || layout === 'float64')
      return;
    this.#host = null;
    this.#source?.released();
  }

  /** The device buffer for writing: the host copy is stale from now on. */
  deviceBufferForWriting(memory: DeviceMemory, layout: DeviceLayout): DeviceBuffer {
    const buffer = this.deviceBuffer(memory, layout);
    this.#leaveRows();
    this.#host = null;
    this.#source = null;
    this.#narrowing = null;
    this.#writes++;
    return buffer;
  }

  /** Whether `deviceBuffer` would answer without a trip over the host. */
  canReachDevice(memory: DeviceMemory, layout: DeviceLayout): boolean {
    const copy = this.#deviceCopy();
    if (layout === 'half' && !this.#narrowing) return false;
    if (!copy && this.rows?.memory.storage.canReachDevice(memory, layout)) return true;
    return this.#host !== null || (copy !== null && copy.memory === memory && copy.layout === layoutOfParts(layout));
  }

  /** Frees the memory at once. Tensors over this storage cannot be used afterwards. */
  dispose(): void {
    this.#disposed = true;
    this.#host = null;
    this.#dropDeviceCopy();
    this.#leaveRows();
  }

  /** The copy on a device, given up where it turns out that the device had no memory for it. */
  #deviceCopy(): DeviceCopy | null {
    const copy = this.#copy;
    if (!copy?.buffer.isLost) return copy;
    this.#dropDeviceCopy();
    this.#isLost = !this.#host && !this.#source && !this.#rows;
    return null;
  }

  #adopt(copy: DeviceCopy): void {
    this.#copy = copy;
    abandoned.register(this, copy, this);
  }

  #dropDeviceCopy(): void {
    const copy = this.#copy;
    if (!copy) return;
    this.#forgetDeviceCopy();
    copy.memory.release(copy.buffer);
  }

  #forgetDeviceCopy(): void {
    this.#copy = null;
    abandoned.unregister(this);
  }
}

const layoutOfParts = (layout: DeviceLayout): DeviceLayout => (layout === 'half' ? layout : realType(layout));

function lost(): CressetError {
  return new CressetError('DEVICE_OUT_OF_MEMORY', 'this tensor is lost: the GPU had no memory for it');
}
