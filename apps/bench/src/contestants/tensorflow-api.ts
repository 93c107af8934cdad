/** As much of @tensorflow/tfjs-core as the bench calls: its types are those of a package that only `pnpm bench` installs. */

export interface TensorFlowTensor {
  readonly shape: number[];
  data(): Promise<Float32Array<ArrayBuffer>>;
  dispose(): void;
}

export interface TensorFlowVariable extends TensorFlowTensor {
  readonly name: string;
}

type Unary = (x: TensorFlowTensor) => TensorFlowTensor;
type Binary = (a: TensorFlowTensor, b: TensorFlowTensor | number) => TensorFlowTensor;

export interface TensorFlow {
  readonly version_core: string;
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  tensor(data: Float32Array, shape: readonly number[], dtype: 'float32'): TensorFlowTensor;
  tidy<Result>(run: () => Result): Result;
  matMul(a: TensorFlowTensor, b: TensorFlowTensor, transposeA?: boolean, transposeB?: boolean): TensorFlowTensor;
  conv2d(
    x: TensorFlowTensor,
    filter: TensorFlowTensor,
    strides: number,
    pad: 'same' | 'valid' | number,
  ): TensorFlowTensor;
  maxPool(x: TensorFlowTensor, size: number, strides: number, pad: 'same' | 'valid'): TensorFlowTensor;
  softmax(x: TensorFlowTensor, axis: number): TensorFlowTensor;
  logSoftmax(x: TensorFlowTensor, axis: number): TensorFlowTensor;
  moments(x: TensorFlowTensor, axis: number, keepDims: boolean): { mean: TensorFlowTensor; variance: TensorFlowTensor };
  sum(x: TensorFlowTensor, axis: number): TensorFlowTensor;
  reshape(x: TensorFlowTensor, shape: readonly number[]): TensorFlowTensor;
  transpose(x: TensorFlowTensor, order: readonly number[]): TensorFlowTensor;
  slice(x: TensorFlowTensor, begin: readonly number[], size: readonly number[]): TensorFlowTensor;
  split(x: TensorFlowTensor, parts: number, axis: number): TensorFlowTensor[];
  stack(values: readonly TensorFlowTensor[], axis: number): TensorFlowTensor;
  variable(value: TensorFlowTensor): TensorFlowVariable;
  readonly train: {
    sgd(learningRate: number): {
      /** Changes variables, and gives what was minimised. */
      minimize(
        loss: () => TensorFlowTensor,
        returnCost: true,
        variables: readonly TensorFlowVariable[],
      ): TensorFlowTensor;
      dispose(): void;
    };
  };
  readonly losses: { softmaxCrossEntropy(labels: TensorFlowTensor, scores: TensorFlowTensor): TensorFlowTensor };
  zeros(shape: readonly number[]): TensorFlowTensor;
  readonly add: Binary;
  readonly sub: Binary;
  readonly mul: Binary;
  readonly div: Binary;
  readonly exp: Unary;
  readonly relu: Unary;
  readonly rsqrt: Unary;
  readonly sigmoid: Unary;
  readonly tanh: Unary;
}
