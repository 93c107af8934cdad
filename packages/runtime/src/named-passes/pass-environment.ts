import type { PassEnvironment } from '@cresset/passes';
import { evaluateConstant } from '../executor/constant-evaluator.ts';
import { compileDecomposition } from '../executor/decomposition-compiler.ts';

/** What passes need that run operators. */
export const passEnvironment: PassEnvironment = { evaluate: evaluateConstant, compileDecomposition };
