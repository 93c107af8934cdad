import { CressetError, version } from '@cresset/ir';
import type { Part } from '@cresset/runtime';

/**
 * How parts are come by in what is published. There a part is a file without imports, since it may have been given another name and another
 * place than the engine, and without exports, which not every bundler leaves to a file that is named by its address: when it is run it puts itself
 * into a table of the thread.
 */
interface PartFile {
  /** Takes what the part needs of the engine and of other parts, and gives what it exports. */
  define(engine: Readonly<Record<string, unknown>>, ...parts: readonly Part[]): Part;
  /** Files of other parts that it needs. */
  readonly needs: readonly string[];
}

/** Files of another version of the library are linked to another engine. */
const TABLE = Symbol.for(`cresset.parts ${version}`);

/** The files that were run in this thread, by the names they were built under. */
const filesHere = (): Readonly<Record<string, PartFile | undefined>> =>
  (globalThis as { [TABLE]?: Record<string, PartFile> })[TABLE] ?? {};

let addresses: Readonly<Record<string, string>> = {};
const files = new Map<string, Promise<PartFile>>();
const linked = new Map<string, Promise<Part>>();

/** Says where the files of parts are; those of which nothing is said are looked for beside the engine. */
export function usePartAddresses(given: Readonly<Record<string, string>>): void {
  addresses = { ...addresses, ...given };
}

/**
 * Fetches a part and links it to the engine.
 *
 * @param names of its file and of those that it needs, which are fetched at once
 * @param engine gives what the engine exports to parts
 */
export function linkPart(names: readonly string[], engine: () => Readonly<Record<string, unknown>>): Promise<Part> {
  names.forEach((name) => void fileOf(name).catch(() => undefined));
  return link(names[0], engine);
}

function link(name: string, engine: () => Readonly<Record<string, unknown>>): Promise<Part> {
  return once(linked, name, async () => {
    const { define, needs } = await fileOf(name);
    return define(engine(), ...(await Promise.all(needs.map((each) => link(each, engine)))));
  });
}

const fileOf = (name: string): Promise<PartFile> => once(files, name, () => fetchFile(name));

/** What was begun before, or is now; what failed is forgotten. */
function once<Result>(
  begun: Map<string, Promise<Result>>,
  name: string,
  begin: () => Promise<Result>,
): Promise<Result> {
  let result = begun.get(name);
  if (!result) {
    begun.set(name, (result = begin()));
    result.catch(() => begun.delete(name));
  }
  return result;
}

async function fetchFile(file: string): Promise<PartFile> {
  // Some come in one file with the engine.
  const here = filesHere()[file];
  if (here) return here;
  const places = [addresses[file], besideTheEngine(file)].filter((each) => each !== undefined);
  let cause: unknown;
  for (const place of places) {
    try {
      await import(/* @vite-ignore */ place);
      const found = filesHere()[file];
      if (found) return found;
      cause ??= new Error(`what is at ${place} is something else`);
    } catch (error) {
      cause ??= error;
    }
  }
  cause ??= new Error('nothing says where it is');
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
