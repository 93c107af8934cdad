import { type Tensor, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { numbersInPieces, storeInPieces, copiedNumbers } from '../../kernels/numbers/numbers.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';

/**
 * Filters whose every sample needs the one before (libtorchaudio's lfilter.cpp and overdrive.cpp). On the host only: all a device could
 * compute at the same time are the channels, and a waveform has one or two.
 */

interface FilterArgs {
  /** `[N, C, T]`: what the other half of the filter made of the waveform. */
  readonly input_signal_windows: Tensor;
  /** `[C, order]`, the coefficient of the latest sample last. */
  readonly a_coeff_flipped: Tensor;
  /** `[N, C, T + order - 1]`, which begins with the samples before the first. */
  readonly padded_output_waveform: Tensor;
}

function* filter(args: FilterArgs): Pieces<Tensor> {
  const { input_signal_windows: input, a_coeff_flipped: coefficients, padded_output_waveform: output } = args;
  const all = [input, coefficients, output];
  check(
    all.every((tensor) => tensor.isContiguous()),
    'lfilter: tensors must be contiguous',
  );
  const { dtype } = input;
  check(
    (dtype === 'float32' || dtype === 'float64') && all.every((tensor) => tensor.dtype === dtype),
    'lfilter: tensors must be float32 or float64, all of one dtype',
  );
  check(
    input.dim === 3 && coefficients.dim === 2 && output.dim === 3,
    'lfilter: waveforms must be 3-D, coefficients 2-D',
  );
  const [batch, channels, samples] = input.sizes;
  const order = coefficients.sizes[1];
  check(
    output.sizes[0] === batch && output.sizes[1] === channels && coefficients.sizes[0] >= channels,
    'lfilter: waveforms and coefficients must have the same channels',
  );
  check(output.sizes[2] === samples + order - 1, 'lfilter: the output must be as long as the input and its padding');
  const round = roundingTo(dtype);
  const given = yield* numbersInPieces(input);
  const factors = yield* numbersInPieces(coefficients);
  const length = output.sizes[2];
  const values = yield* copiedNumbers(output);
  for (let line = 0; line < batch * channels; line++) {
    const from = line * length;
    const factor = (line % channels) * order;
    yield* repeat(samples, 8 * order, (at) => {
      let sample = given[line * samples + at];
      for (let k = 0; k < order; k++) sample = round(sample - round(values[from + at + k] * factors[factor + k]));
      values[from + at + order - 1] = sample;
    });
    yield;
  }
  yield* storeInPieces(output, values);
  return output;
}

interface OverdriveArgs {
  /** `[C, T]`, like `temp` and `output_waveform`. */
  readonly waveform: Tensor;
  readonly temp: Tensor;
  /** `[C]`: the latest sample of `temp`, and what became of it. */
  readonly last_in: Tensor;
  readonly last_out: Tensor;
  readonly output_waveform: Tensor;
}

function* overdrive(args: OverdriveArgs): Pieces<readonly Tensor[]> {
  const { waveform, temp, last_in: lastIn, last_out: lastOut, output_waveform: output } = args;
  const { dtype } = waveform;
  if (dtype !== 'float32' && dtype !== 'float64') throw notImplementedFor('overdrive_cpu', dtypeName(dtype));
  const [channels, samples] = waveform.sizes;
  const fits =
    waveform.dim === 2 &&
    [temp, output].every(({ dim, sizes }) => dim === 2 && sizes[0] === channels && sizes[1] === samples) &&
    [lastIn, lastOut].every(({ dim, sizes }) => dim === 1 && sizes[0] === channels);
  check(fits, 'overdrive: waveforms must have the same channels and samples, states one element a channel');
  const round = roundingTo(dtype);
  const [given, driven] = [yield* numbersInPieces(waveform), yield* numbersInPieces(temp)];
  const [latestIn, latestOut] = [
    Float64Array.from(yield* numbersInPieces(lastIn)),
    Float64Array.from(yield* numbersInPieces(lastOut)),
  ];
  const values = scratch(Float64Array, channels * samples);
  for (let channel = 0; channel < channels; channel++) {
    yield* repeat(samples, 16, (index) => {
      const at = channel * samples + index;
      latestOut[channel] = round(driven[at] - latestIn[channel] + 0.995 * latestOut[channel]);
      latestIn[channel] = driven[at];
      values[at] = round(given[at] * 0.5 + latestOut[channel] * 0.75);
    });
    yield;
  }
  yield* storeInPieces(lastIn, latestIn);
  yield* storeInPieces(lastOut, latestOut);
  yield* storeInPieces(output, values);
  return [lastIn, lastOut, output];
}

export const recursiveFilterRows: readonly OperatorRow[] = [
  kernel<FilterArgs>(
    'torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)',
    { host: filter },
  ),
  kernel<OverdriveArgs>(
    'torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    { host: overdrive },
  ),
];
