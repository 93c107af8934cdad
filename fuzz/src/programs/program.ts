import type { ScalarType } from '@cresset/tensor';

/** One call of a program: what it is given follows from this. */
export interface Call {
  readonly sizes: readonly number[];
  /** Calls of one seed and size are given equal elements. */
  readonly seed: number;
  readonly n: number;
}

/** A random program: a module whose `forward` writes to what it is given, makes and keeps. */
export interface Program {
  readonly seed: number;
  readonly dtype: ScalarType;
  /** Sizes of the buffer that the module keeps. */
  readonly stateSizes: readonly number[];
  /** Whether `y` is the same tensor as `x`. */
  readonly isAliased: boolean;
  /** Whether the arguments' tensors require gradients, and those of the results are asked for after each call. */
  readonly isDifferentiated: boolean;
  /** The lines of each statement of `forward`, indented as in a function's body without indentation. */
  readonly statements: readonly (readonly string[])[];
  /** What `forward` returns. */
  readonly results: readonly string[];
  readonly calls: readonly Call[];
}

/** What programs may call: each writes to an argument, or to what the module keeps. */
const HELPERS = `    def swap(self, a: Tensor, b: Tensor):
        a.add_(1)
        return b * 2, a

    def bump(self, a: Tensor):
        self.k += 1
        if self.k > 3:
            return a
        a.mul_(2)
        return a + 1
`;

/** Called after each call that is differentiated: what the module keeps holds on to no call, as where steps of a recurrent network are cut apart. */
export const CUT = 'cut';
const CUTTING = `
    @torch.jit.export
    def ${CUT}(self):
        self.s = self.s.detach()
        self.kept = [e.detach() for e in self.kept]
        self.named = {k: e.detach() for k, e in self.named.items()}
        self.cache = self.cache.detach()
`;

/** The program as text that PyTorch's \`script\` and ours compile. */
export function sourceOf({ statements, results, isDifferentiated }: Program, name = 'Subject'): string {
  const body = statements.flat().map((line) => `        ${line}\n`);
  return `class ${name}(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('s', s)
        self.kept = [s * 1]
        self.named = {'a': s * 2}
        self.cache = torch.zeros([2, 0, 64], dtype=s.dtype)
        self.k = 0

${HELPERS}${isDifferentiated ? CUTTING : ''}
    def forward(self, x: Tensor, y: Tensor, n: int, l: List[Tensor]):
${body.join('')}        return ${results.join(', ')},
`;
}
