import { CressetError } from '@cresset/ir';
import type { Part } from '@cresset/runtime';

/**
 * How parts are come by in what is published. There a part is a file without imports, since it may have been given another name and another
 * place than the engine: its one export is a function that takes what it needs of the engine, and gives what it exports.
 */
type PartFile = {
  readonly default: (engine: Readonly<Record<string, unknown>>, ...parts: readonly Part[]) => Part;
  /** Files of other parts that it needs. */
  readonly needs: readonly string[];
};

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
    const { default: define, needs } = await fileOf(name);
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
