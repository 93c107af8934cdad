import { CressetError } from '@cresset/ir';
import type { Part } from '@cresset/runtime';

/**
 * How parts are come by in what is published. There a part is a file without imports, since it may have been given another name and another
 * place than the engine: its one export is a function that takes what it needs of the engine, and gives what it exports.
 */
type PartFile = {
  readonly default: (...engineAndParts: Readonly<Record<string, unknown>>[]) => Part;
  /** Files of other parts that it needs. */
  readonly needs: readonly string[];
};

let addresses: Readonly<Record<string, string>> = {};
const linked = new Map<string, Promise<Part>>();

/** Says where the files of parts are; those of which nothing is said are looked for beside the engine. */
export function usePartAddresses(given: Readonly<Record<string, string>>): void {
  addresses = { ...addresses, ...given };
}

/**
 * Fetches the file of a part and links it to the engine.
 *
 * @param engine gives what the engine exports to parts
 */
export function linkPart(file: string, engine: () => Readonly<Record<string, unknown>>): Promise<Part> {
  let part = linked.get(file);
  if (!part) {
    part = fetchFile(file).then(async ({ default: define, needs }) =>
      define(
        engine(),
        ...((await Promise.all(needs.map((each) => linkPart(each, engine)))) as Record<string, unknown>[]),
      ),
    );
    part.catch(() => linked.delete(file));
    linked.set(file, part);
  }
  return part;
}

async function fetchFile(file: string): Promise<PartFile> {
  const places = [addresses[file], besideTheEngine(file)].filter((each) => each !== undefined);
  let cause: unknown = new Error('nothing says where it is');
  for (const place of places) {
    try {
      return (await import(/* @vite-ignore */ place)) as PartFile;
    } catch (error) {
      cause = error;
    }
  }
  throw new CressetError(
    'PART_MISSING',
    `a part of the library could not be fetched: ${file} (${cause instanceof Error ? cause.message : String(cause)}). Serve the files of cresset's dist folder beside each other, or import 'cresset/full', which has every part`,
    { cause },
  );
}

function besideTheEngine(file: string): string | undefined {
  try {
    return new URL(file, import.meta.url).href;
  } catch {
    return undefined;
  }
}
