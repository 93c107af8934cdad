import { scalarTypeCode } from '@cresset/ir';
import { isFloatingPoint, List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { tensorsOf } from './record.ts';
import { requiresGrad } from './tensor-history.ts';
import type { TapeRun } from '../tape-run.ts';

/** Dtypes that `torch.autocast('cpu', dtype=…)` takes. */
export type AutocastDtype = 'float16' | 'bfloat16';

const operators = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/).map((name) => `aten::${name}`));

/** What computes in the lower precision (PyTorch: the kernels of its key AutocastCPU). */
const lowering = operators(
  `conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm _addmm_activation addbmm linear _convolution.deprecated matmul conv_tbc mkldnn_rnn_layer
  conv_transpose1d conv_transpose2d conv_transpose3d prelu scaled_dot_product_attention _native_multi_head_attention`,
);
const widening = operators(
  `_grid_sampler_2d_cpu_fallback _lu_with_info adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
  binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy_loss ctc_loss
  fake_quantize_per_tensor_affine fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft
  fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss
  inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
  linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals
  linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss
  multilabel_margin_loss multilabel_margin_loss_forward nanquantile nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile
  reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace
  triangular_solve triplet_margin_loss view_as_complex`,
);
/** They take the widest dtype of their operands. */
const promoting = operators('stack cat index_copy');

/** What operators are called with while an autocast is on, as PyTorch's dispatcher casts arguments on the CPU. */
export class Autocast {
  /** Parameters in the lower precision: each is cast once. */
  readonly #cast = new Map<Tensor, Tensor>();

  constructor(readonly dtype: AutocastDtype) {}

  /** What the floats among an operator's arguments become; null where they stay as they are. @param name with its overload */
  dtypeFor(name: string, args: readonly IValue[]): ScalarType | null {
    const base = name.split('.', 1)[0];
    const isIn = (names: ReadonlySet<string>): boolean => names.has(name) || names.has(base);
    if (isIn(lowering)) return this.dtype;
    if (isIn(widening)) return 'float32';
    if (!isIn(promoting)) return null;
    const dtypes = args.flatMap(tensorsOf).flatMap((tensor) => (tensor && isCast(tensor) ? [tensor.dtype] : []));
    return dtypes.includes('float32') ? 'float32' : dtypes.length > 0 ? this.dtype : null;
  }

  /** The arguments as an operator gets them, and which of their tensors are to be given up when it has run. */
  async castTo(
    dtype: ScalarType,
    args: readonly IValue[],
    run: TapeRun,
  ): Promise<{ readonly args: readonly IValue[]; readonly made: readonly Tensor[] }> {
    const made: Tensor[] = [];
    const one = async (tensor: Tensor): Promise<Tensor> => {
      if (!isCast(tensor) || tensor.dtype === dtype) return tensor;
      const known = dtype === this.dtype ? this.#cast.get(tensor) : undefined;
      if (known) return known;
      const result = await run.call('toType', tensor, BigInt(scalarTypeCode(dtype)));
      if (dtype === this.dtype && isParameter(tensor)) this.#cast.set(tensor, result);
      else made.push(result);
      return result;
    };
    const cast: IValue[] = [];
    for (const value of args) {
      if (value instanceof Tensor) cast.push(await one(value));
      else if (value instanceof List && value.items.some((item) => item instanceof Tensor)) {
        const items: IValue[] = [];
        for (const item of value.items) items.push(item instanceof Tensor ? await one(item) : item);
        cast.push(new List(value.elementType, items));
      } else cast.push(value);
    }
    return { args: cast, made };
  }

  /** The program is over: gives up what was kept for its operators. */
  end(run: TapeRun): void {
    for (const tensor of this.#cast.values()) run.release(tensor);
    this.#cast.clear();
  }
}

const isCast = ({ dtype }: Tensor): boolean => isFloatingPoint(dtype) && dtype !== 'float64';

const isParameter = (tensor: Tensor): boolean => tensor.requiresGrad && requiresGrad(tensor);
