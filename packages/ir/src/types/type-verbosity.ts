/** How much of a tensor's type graphs show (PyTorch: TypeVerbosity). */
export enum TypeVerbosity {
  None = 0,
  Type = 1,
  TypeAndStride = 2,
  Full = 3,
  Symbolic = 4,
}

let verbosity = TypeVerbosity.Full;

export function typeVerbosity(): TypeVerbosity {
  return verbosity;
}

export function setTypeVerbosity(value: TypeVerbosity): void {
  verbosity = value;
}
