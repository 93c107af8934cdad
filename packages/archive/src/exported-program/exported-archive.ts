import { CressetError } from '@cresset/ir';
import type { ZipReader } from '../zip/zip-reader.ts';
import { JsonObject } from './json-object.ts';
import { parseJson } from './json-text.ts';

/** The record of a program up to PyTorch 2.7, whose archives have no folder. */
const OLD_PROGRAM = 'serialized_exported_program.json';
const ARCHIVE_VERSION = '0';
const SCHEMA_VERSION = 8n;

/** One program of an archive, and where its parts are. */
export interface ArchivedProgram {
  readonly json: JsonObject;
  /** The folder of the archive, with a slash at its end; null in the layout up to PyTorch 2.7. */
  readonly root: string | null;
  readonly name: string;
  readonly hasExamples: boolean;
}

/**
 * Reads the description of a program that `torch.export.save` wrote, or `package_pt2`, of which an archive may have several.
 *
 * Throws `FILE_HAS_PROGRAMS` where it has several and none is named, `EXPORT_NO_PROGRAM` where it has none of that name, `EXPORT_VERSION` for a format that
 * is not known, and `FILE_IS_COMPILED_PACKAGE` for a package of AOTInductor.
 */
export async function readArchivedProgram(
  zip: ZipReader,
  file: string,
  wanted: string | undefined,
): Promise<ArchivedProgram> {
  const isOld = zip.has(OLD_PROGRAM);
  const root = isOld ? null : rootOf(zip);
  if (root !== null) await checkArchiveVersion(zip, root, file);
  const name = root === null ? 'model' : chooseProgram(zip, root, file, wanted);
  const record = root === null ? OLD_PROGRAM : `${root}models/${name}.json`;
  const json = parseJson(new TextDecoder().decode(await zip.read(record)), record);
  if (!(json instanceof JsonObject))
    throw new CressetError('EXPORT_MALFORMED', `${record} is damaged: it is no object`);
  const major = json.object('schema_version').int('major');
  if (major !== SCHEMA_VERSION) {
    throw new CressetError(
      'EXPORT_VERSION',
      `${file} has version ${major} of torch.export's schema, and version ${SCHEMA_VERSION} can be read: export the program again with PyTorch 2.6 or later`,
    );
  }
  const examples = root === null ? 'serialized_example_inputs.pt' : `${root}data/sample_inputs/${name}.pt`;
  return { json, root, name, hasExamples: (zip.entries.get(examples)?.size ?? 0) > 0 };
}

function rootOf(zip: ZipReader): string {
  for (const name of zip.entries.keys()) {
    const match = /^([^/]*\/)?archive_format$/.exec(name);
    if (match) return match[1] ?? '';
  }
  return zip.firstName.slice(0, zip.firstName.indexOf('/') + 1);
}

async function checkArchiveVersion(zip: ZipReader, root: string, file: string): Promise<void> {
  const textOf = async (name: string): Promise<string | null> =>
    zip.has(root + name)
      ? new TextDecoder()
          .decode(await zip.read(root + name))
          .trim()
          .slice(0, 20)
      : null;
  const [format, version] = await Promise.all([textOf('archive_format'), textOf('archive_version')]);
  if (format === 'pt2' && version === ARCHIVE_VERSION) return;
  throw new CressetError(
    'EXPORT_VERSION',
    `${file} is an archive of format '${format}', version '${version}'; 'pt2', version '${ARCHIVE_VERSION}', can be read`,
  );
}

function chooseProgram(zip: ZipReader, root: string, file: string, wanted: string | undefined): string {
  const folder = `${root}models/`;
  const names = [...zip.entries.keys()].flatMap((name) =>
    name.startsWith(folder) && name.endsWith('.json') ? [name.slice(folder.length, -'.json'.length)] : [],
  );
  const list = names.map((name) => `'${name}'`).join(', ');
  if (names.length === 0) {
    const isCompiled = [...zip.entries.keys()].some((name) => name.startsWith(`${root}data/aotinductor/`));
    if (!isCompiled) throw new CressetError('EXPORT_NO_PROGRAM', `${file} has no program`);
    throw new CressetError(
      'FILE_IS_COMPILED_PACKAGE',
      `${file} is a package of AOTInductor: code that was compiled for one machine, and no program. In Python, save what it was compiled from: torch.export.save(exported_program, "model.pt2")`,
    );
  }
  if (wanted !== undefined) {
    if (names.includes(wanted)) return wanted;
    throw new CressetError('EXPORT_NO_PROGRAM', `${file} has no program '${wanted}', but ${list}`);
  }
  if (names.length === 1) return names[0];
  if (names.includes('model')) return 'model';
  throw new CressetError(
    'FILE_HAS_PROGRAMS',
    `${file} has ${names.length} programs: load(input, { program }) takes one of ${list}`,
  );
}
