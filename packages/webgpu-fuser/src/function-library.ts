import { floatFunctions } from './float-functions.ts';
import { integerFunctions } from './integer-functions.ts';
import { transcendentalFunctions } from './transcendental-functions.ts';

const library = new Map(
  [floatFunctions, transcendentalFunctions, integerFunctions].flatMap((table) => Object.entries(table)),
);
const calls = /\b[a-z][a-z0-9_]*(?=\()/g;

/** The library functions that `code` calls, with those they call, each once and before its first use. */
export function libraryFunctionsIn(code: string): string[] {
  const found = new Set<string>();
  const visit = (text: string): void => {
    for (const [name] of text.matchAll(calls)) {
      const source = library.get(name);
      if (source === undefined || found.has(source) || source === text) continue;
      visit(source);
      found.add(source);
    }
  };
  visit(code);
  return [...found];
}
