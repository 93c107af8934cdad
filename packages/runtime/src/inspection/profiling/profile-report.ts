/** A line of Python that a kernel comes from. */
export interface SourceLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/**
 * Where something was computed: by a kernel, on the GPU or in WebAssembly; on the host without one, because there was little to do, or doubles
 * to do it with, or because there is no WebAssembly; or on the host after a readback, since the GPU has no kernel for it.
 */
export type KernelPlace = 'device' | 'host' | 'fallback';

/** A kernel, or an operator that the host computed, with all its runs in one call. */
export interface KernelProfile {
  /** The operators in it, as `aten::linear`. */
  readonly operators: readonly string[];
  /** Of gradients that the program asks for: the line of the derivative, whose file is `<derivative of aten::tanh>`. */
  readonly python: readonly SourceLine[];
  readonly place: KernelPlace;
  readonly runs: number;
  /** Time on the device, or on the host for what ran there; null where the GPU tells no time. */
  readonly milliseconds: number | null;
  /** Of the tensors that are read and written, each counted once a run. */
  readonly bytes: number;
  /** Operations on floats; an exponential counts as one. */
  readonly flops: number;
  /** Of what the device reaches in a kernel that does nothing else, whichever of bytes and operations is nearer to it; null where unknown. */
  readonly shareOfPeak: number | null;
  /** The shader's WGSL, or the text of a WebAssembly module; null for what is no kernel. */
  readonly code: string | null;
  /** How its work is spread over threads; null in WebAssembly, for what is no kernel, and where dispatches are not told apart. */
  readonly schedule: string | null;
}

/** Milliseconds of one warm call, as it is made when nobody looks. */
export interface CallPhases {
  readonly total: number;
  /** Finding the plan of the method and checking that it still holds. */
  readonly guards: number;
  /** Interpreting the program and enqueuing its kernels, with what it computes on the host. */
  readonly enqueue: number;
  readonly encode: number;
  readonly submit: number;
  /** Waiting for the GPU and for the results to come down. */
  readonly readback: number;
  /** Of what the host computed since the device has no kernel for it. Measured operator by operator, so it is part of the others. */
  readonly fallback: number;
}

/** Milliseconds from the file to the first answer, by what they were spent on. */
export interface LoadPhases {
  /** Until the file was there, or as much of a large one as is needed to open it; 0 for a program that was made here, as the next. */
  readonly download: number;
  /** Unzipping, unpickling and reading the code. */
  readonly read: number;
  /** Compiling the method from its Python text, with what it calls. */
  readonly compile: number;
  /** Passes over its graph. */
  readonly passes: number;
  /** Compiling the shaders of this call, which is done in parallel, or its WebAssembly. */
  readonly pipelines: number;
  /** Handing data to the device: of all models since it was opened. */
  readonly upload: number;
}

/** An event of the format that chrome://tracing and Perfetto read; times are microseconds. */
export interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'M';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** What `profile` found. */
export interface CallProfile {
  readonly method: string;
  /** The adapter, or the host. */
  readonly device: string;
  readonly call: CallPhases;
  readonly load: LoadPhases;
  /** Bytes and operations a second that the device reaches; null where it tells no time, and where there is none. */
  readonly peak: { readonly bytesPerSecond: number; readonly operationsPerSecond: number } | null;
  /** The longest first. */
  readonly kernels: readonly KernelProfile[];
  /** `JSON.stringify(profile.trace)` is a file for chrome://tracing or Perfetto. */
  readonly trace: { readonly traceEvents: readonly TraceEvent[]; readonly displayTimeUnit: 'ms' };
}

/** A pass over a method's graph: how long it took, and the graph after it in PyTorch's text. */
export interface PassStep {
  readonly name: string;
  readonly milliseconds: number;
  readonly graph: string;
}
