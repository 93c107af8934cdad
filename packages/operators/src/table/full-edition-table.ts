import { extraDeclarations } from './extra-declarations.ts';
import { families } from '../families/common.ts';
import { hashOf } from './full-edition-names.ts';
import { allRows } from '../register-all.ts';
import { rowsOf } from './register.ts';
import type { OperatorRow } from './row.ts';

const keyOf = ({ schema }: OperatorRow): string => schema.slice(0, schema.indexOf('('));

/** Operators that only the full edition has, with all forms of those of which it has more: name and overload. */
export function fullEditionOnly(): string[] {
  const core = new Set([...rowsOf(families), ...extraDeclarations].map(keyOf));
  return allRows()
    .map(keyOf)
    .filter((key) => !core.has(key));
}

/** The text of full-edition-hashes.ts: the names of those operators, by hash. */
export function fullEditionHashes(): string {
  const names = new Set(fullEditionOnly().map((key) => key.replace(/\..*/, '')));
  const hashes = [...names].map(hashOf).sort();
  return `/** Names of operators of which the full edition has more than the core edition, by hash; \`pnpm docs:operators\` writes it. */
export const HASHES =
  '${hashes.join('')}';
`;
}
