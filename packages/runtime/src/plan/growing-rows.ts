import { elementSize, Storage, Tensor, type RowMemory, type ScalarType } from '@cresset/tensor';
import { TensorView, type ComputeDevice, type LoopNest } from '@cresset/tensorexpr';

/** Rows begin at multiples of so many elements: whole vectors, and whatever else kernels ask distances for. */
const ALIGNMENT = 32;

/** Elements from one row to the next where each row has `row` now: it can have twice as many before rows have to be moved. */
export const pitchFor = (row: number): number => Math.ceil((2 * row) / ALIGNMENT) * ALIGNMENT;

const made = new WeakMap<Storage, GrowingRows>();

/**
 * Rows on a device with room behind each. What is put at the end of every row changes no element that was there: the storages that lie here may all be read on, and the
 * one that has the whole of each row is the one that others can grow out of.
 */
export class GrowingRows implements RowMemory {
  readonly storage: Storage;
  /** Elements of each row that some storage has, or had. */
  filled: number;
  #tenants = 0;

  private constructor(
    private readonly device: ComputeDevice,
    readonly dtype: ScalarType,
    readonly rows: number,
    readonly pitch: number,
    filled: number,
  ) {
    this.storage = Storage.onDevice(device, dtype, rows * pitch);
    this.filled = filled;
    made.set(this.storage, this);
  }

  /** Those that a storage is the memory of. */
  static of(storage: Storage): GrowingRows | null {
    return made.get(storage) ?? null;
  }

  /** Those that a storage's elements lie in, as so many rows; null where they lie in none, or in others. */
  static under(storage: Storage, rows: number): GrowingRows | null {
    const memory = storage.rows?.memory;
    return memory?.rows === rows ? GrowingRows.of(memory.storage) : null;
  }

  /** Has a storage's elements, which are on the device, lie as so many rows with room behind them. */
  static house(storage: Storage, device: ComputeDevice, dtype: ScalarType, rows: number, pitch: number): GrowingRows {
    const row = storage.byteLength / elementSize(dtype) / rows;
    const known = GrowingRows.under(storage, rows);
    const grown = new GrowingRows(device, dtype, rows, pitch, row);
    grown.#copy(known?.storage ?? storage, grown.storage, row, known?.pitch ?? row, pitch);
    storage.moveToRows({ memory: grown, row });
    return grown;
  }

  /** Whether so many elements more can be put behind `row` of each row. */
  hasRoom(row: number, more: number): boolean {
    return this.filled === row && row + more <= this.pitch;
  }

  /** A storage of the first `row` elements of each row. */
  upTo(row: number): Storage {
    this.filled = Math.max(this.filled, row);
    return Storage.inRows(this.dtype, { memory: this, row });
  }

  packed(row: number): Storage {
    const packed = Storage.onDevice(this.device, this.dtype, this.rows * row);
    this.#copy(this.storage, packed, row, this.pitch, row);
    return packed;
  }

  take(): void {
    this.#tenants++;
  }

  give(): void {
    if (--this.#tenants === 0) this.storage.dispose();
  }

  /** Copies rows to where others begin. Nobody who listens is told: it is no work of the program. */
  #copy(from: Storage, to: Storage, row: number, fromPitch: number, toPitch: number): void {
    const { dtype, rows, device } = this;
    const viewOf = (storage: Storage, pitch: number): TensorView =>
      new TensorView(new Tensor(storage, dtype, [rows, row], [pitch, 1]));
    const [source, target] = [viewOf(from, fromPitch), viewOf(to, toPitch)];
    const axes = target.axes('ij');
    const nest: LoopNest = {
      kind: 'nest',
      label: 'moved rows',
      axes,
      innerAxes: [],
      stores: [{ operand: target.operand, offset: target.offsetAt(axes), value: source.at(axes) }],
    };
    const { recorder } = device;
    const listener = recorder?.listener ?? null;
    if (recorder) recorder.listener = null;
    try {
      device.launch(nest);
    } finally {
      if (recorder) recorder.listener = listener;
    }
  }
}
