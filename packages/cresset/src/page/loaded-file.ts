import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { CallResult, ModelSummary, OutputPlaces, RunProfile } from '@cresset/runtime';
import type { Placement } from './placing/placement.ts';
import { fromWire, WireArguments, type Input, type Output } from './values/value.ts';

/** What is given to a run beside its positional arguments. */
export interface ArgumentOptions {
  /** Arguments by name, after the positional ones. */
  readonly kwargs?: Readonly<Record<string, Input>>;
  /** Ends the call at the next instruction; it rejects at once with an error of name `AbortError`. */
  readonly signal?: AbortSignal;
}

export interface CallOptions extends ArgumentOptions {
  /**
   * Where the tensors of the result are to be: on the `page`, with their elements, or left where the model made them (`device`), as {@link DeviceTensor}s. Of a result that
   * is a tuple or a list, an array says it for each value. The default is what `load` was told, and else `page`.
   */
  readonly outputs?: OutputPlaces;
  /** Told how many bytes were read of the weights that this call needs, where they are not there yet: of a file over 32 MB. */
  readonly onProgress?: (progress: { readonly loaded: number; readonly total: number | null }) => void;
}

/** What {@link ArgumentOptions} can be. */
export const ARGUMENT_RULES = { kwargs: 'object', signal: 'signal' } as const satisfies OptionRules;

/** Buffers of which size are kept for results of the next call, and of how many bytes in all. */
const LEAST_KEPT_BYTES = 64 << 10;
const MOST_KEPT_BYTES = 16 << 20;

/** Memory of results that were disposed of. Results know it, and not the program that they come from: to have one keeps no model alive. */
class SpareResults {
  #buffers: ArrayBuffer[] = [];
  #isClosed = false;

  readonly keep = (buffer: ArrayBuffer): void => {
    const bytes = this.#buffers.reduce((sum, { byteLength }) => sum + byteLength, buffer.byteLength);
    if (this.#isClosed || buffer.byteLength < LEAST_KEPT_BYTES || bytes > MOST_KEPT_BYTES) return;
    // Detached, so that who kept an array of it reads nothing of other results.
    this.#buffers.push(structuredClone(buffer, { transfer: [buffer] }));
  };

  take(): ArrayBuffer[] {
    return this.#buffers.splice(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#buffers = [];
  }
}

/** A program where it runs. */
interface HostedProgram {
  readonly placement: Placement;
  readonly id: number;
  /** Of the request that loaded it. */
  readonly request: number | null;
}

async function end({ placement: { client }, id, request }: HostedProgram): Promise<void> {
  if (request !== null) client.endProgress(request);
  await client.request('done', { type: 'dispose', model: id });
}

// A model that the page forgot must not be held for ever: the safety net below `dispose`, never the plan.
const forgotten = new FinalizationRegistry<HostedProgram>((program) => void end(program).catch(() => undefined));

/** What modules of one loaded file share. */
export class LoadedFile implements HostedProgram {
  disposed = false;
  lastProfile: RunProfile | null = null;
  /** What arguments of the last call came back in: new memory of that size takes longer to come by than to fill. */
  #spare: ArrayBuffer[] = [];
  readonly #results = new SpareResults();

  /** Programs whose modules, functions and classes this one uses: they live as long. */
  readonly used: LoadedFile[] = [];

  constructor(
    readonly placement: Placement,
    readonly id: number,
    public summary: ModelSummary,
    readonly request: number | null = null,
    /** Where tensors of results are to be, where a call does not say. */
    readonly outputs?: OutputPlaces,
  ) {
    forgotten.register(this, { placement, id, request }, this);
  }

  /** Frees it when the calls that were made before have ended. */
  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    this.#results.close();
    forgotten.unregister(this);
    await end(this);
  }

  async call(module: string, method: string, inputs: readonly Input[], options: CallOptions = {}): Promise<Output> {
    checkOptions(`call '${method}'`, options, { ...ARGUMENT_RULES, onProgress: 'function', outputs: 'any' });
    if (!Array.isArray(inputs))
      throw new CressetError('ARGUMENT', `the inputs of call '${method}' have to be an array`);
    const { kwargs: named, signal, onProgress, outputs = this.outputs } = options;
    const values = new WireArguments(this.#spare);
    const args = inputs.map((input) => values.value(input));
    const kwargs = values.named(named);
    const tellsProgress = onProgress !== undefined;
    const disposed = this.#results.take();
    const request = {
      type: 'call',
      model: this.id,
      module,
      method,
      args,
      kwargs,
      tellsProgress,
      spare: disposed,
      outputs,
    } as const;
    const note = ({ profile, written }: CallResult): void => {
      this.lastProfile = profile;
      values.update(written);
    };
    const requestOptions = { onFailedCall: note, ...(signal && { signal }), ...(onProgress && { onProgress }) };
    const { result } = await this.placement.client.request('called', request, requestOptions);
    note(result);
    this.#spare = [...result.spared];
    const { reshaped, value } = result;
    const { DeviceTensor } = outputs || reshaped?.length ? await import('./values/device-tensor.ts') : {};
    DeviceTensor?.reshape(reshaped ?? []);
    return fromWire(value, this.#results.keep, (tensor) => new DeviceTensor!(tensor, this.placement.client));
  }
}
