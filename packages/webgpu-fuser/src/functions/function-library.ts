import { floatFunctions } from './float-functions.ts';
import { integerFunctions } from './integer-functions.ts';
import { transcendentalFunctions } from './transcendental-functions.ts';

const library = new Map(
  [floatFunctions, transcendentalFunctions, integerFunctions].flatMap((table) => Object.entries(table)),
);
const calls = /\b[a-z][a-z0-9_]*(?=\()/g;

/** What the module `rare-functions.ts` has, as far as kernels call it. */
const RARE = new Set(
  `next_after hypotenuse tangent arc_tangent arc_tangent2 arc_sine arc_cosine hyperbolic_sine hyperbolic_cosine area_sine area_cosine
  area_tangent error_function_complement error_function_inverse log_gamma digamma i64_truncdiv i64_fmod i64_floordiv i64_remainder i64_pow
  i64_shl i64_shr philox i32_pow i32_shl i32_shr`.split(/\s+/),
);

/** Fetches the functions that few programs call. */
export async function fetchRareFunctions(): Promise<void> {
  const { rareFunctions } = await import('./rare-functions.ts');
  for (const [name, source] of Object.entries(rareFunctions)) library.set(name, source);
}

export interface LibraryFunctions {
  /** Each once and before its first use. */
  readonly sources: readonly string[];
  /** Whether there are others, which {@link fetchRareFunctions} brings. */
  readonly areMissing: boolean;
}

/** The library functions that `code` calls, with those they call. */
export function libraryFunctionsIn(code: string): LibraryFunctions {
  const sources = new Set<string>();
  let areMissing = false;
  const visit = (text: string): void => {
    for (const [name] of text.matchAll(calls)) {
      const source = library.get(name);
      if (source === undefined) areMissing ||= RARE.has(name);
      if (source === undefined || sources.has(source) || source === text) continue;
      visit(source);
      sources.add(source);
    }
  };
  visit(code);
  return { sources: [...sources], areMissing };
}
