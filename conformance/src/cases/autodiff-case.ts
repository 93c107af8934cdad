import { lint, parseIr } from '@cresset/ir';
import { canonicalize, differentiate } from '@cresset/passes';
import { runtimeConstants } from '@cresset/runtime';
import { sameGraph } from './graph-text.ts';

/** What PyTorch's `_jit_differentiate` gives, as the corpus has it. */
export interface GradientJson {
  readonly f: string;
  readonly df: string;
  readonly f_real_outputs: number;
  readonly df_input_vjps: readonly number[];
  readonly df_input_captured_inputs: readonly number[];
  readonly df_input_captured_outputs: readonly number[];
  readonly df_output_vjps: readonly number[];
}

/** Differentiates a graph; says what is another than PyTorch's, or null. Throws what differentiation throws. */
export function checkAutodiff(ir: string, want: GradientJson): string | null {
  const got = differentiate(parseIr(ir, { constants: runtimeConstants }));
  lint(got.f);
  lint(got.df);
  const lists: readonly (readonly [string, readonly number[], readonly number[]])[] = [
    ['f_real_outputs', [got.fRealOutputs], [want.f_real_outputs]],
    ['df_input_vjps', got.dfInputVjps, want.df_input_vjps],
    ['df_input_captured_inputs', got.dfInputCapturedInputs, want.df_input_captured_inputs],
    ['df_input_captured_outputs', got.dfInputCapturedOutputs, want.df_input_captured_outputs],
    ['df_output_vjps', got.dfOutputVjps, want.df_output_vjps],
  ];
  const other = lists.find(([, mine, theirs]) => String(mine) !== String(theirs));
  if (other) return `another ${other[0]}`;
  if (!sameGraph(canonicalize(got.f), want.f)) return 'another f';
  return sameGraph(canonicalize(got.df), want.df) ? null : 'another df';
}
