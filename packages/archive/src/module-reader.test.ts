import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { ClassType, CompilationUnit, CressetError, registerCustomClass, SourceRange } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import fc from 'fast-check';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { describe, expect, it, vi } from 'vitest';
import { MemorySource } from './sources/byte-source.ts';
import { readModule } from './module-reader.ts';
import { failure } from '../../../test-setup/failure.ts';
import { processorSeconds } from '../../../test-setup/processor-time.ts';

const digits = new Uint8Array(
  readFileSync(new URL('../../../apps/playground/public/models/digits.pt', import.meta.url)),
);

/** The archive with some of its files replaced, or left out where null. */
function withFiles(changes: Readonly<Record<string, Uint8Array | null>>): Uint8Array {
  const files = unzipSync(digits);
  const root = Object.keys(files)[0].split('/')[0];
  for (const [name, contents] of Object.entries(changes)) {
    if (contents) files[`${root}/${name}`] = contents;
    else delete files[`${root}/${name}`];
  }
  return zipSync(files, { level: 0 });
}

describe('readModule', () => {
  it('reads objects, parameters and code', async () => {
    const loaded = await readModule(digits);
    expect(loaded.module.type.qualifiedName).toBe('__torch__.digit_classifier.DigitClassifier');
    expect(loaded.module.type.methods.map(({ name }) => name)).toContain('forward');
    expect([...loaded.code.keys()]).toContain('code/__torch__/digit_classifier.py');
    const convolution = loaded.module.slots.find(
      (slot) => slot !== null && typeof slot === 'object' && 'type' in slot && 'slots' in slot,
    );
    expect(convolution).toBeDefined();
  });

  it('reads the same from deflated entries, behind a Blob, and under another folder name', async () => {
    const files = unzipSync(digits);
    const renamed = Object.fromEntries(
      Object.entries(files).map(([name, data]) => [name.replace(/^[^/]*/, 'other'), data]),
    );
    const loaded = await readModule(new Blob([new Uint8Array(zipSync(renamed, { level: 6 }))]));
    const original = await readModule(digits);
    const tensors = (module: typeof loaded.module): number[] =>
      module.slots.flatMap((slot) => (slot instanceof Tensor ? [slot.numel] : []));
    expect(tensors(loaded.module)).toEqual(tensors(original.module));
  });

  it("finds the author's source once the debug tables are loaded, and not before", async () => {
    const { code, debugTables } = await readModule(digits);
    const source = code.get('code/__torch__/digit_classifier.py')!;
    const forward = source.text.indexOf('torch.softmax');
    const range = new SourceRange(source, forward, forward + 13);
    expect(range.original()).toBeUndefined();
    await debugTables.load();
    const original = range.original()!;
    expect(original.source.filename).toMatch(/digit_classifier\.py$/);
    expect(original.text()).toContain('softmax');
  });

  describe('while what a program needs is on its way', () => {
    const codeFile = 'code/__torch__/digit_classifier.py';
    const withCode = (added: string): Uint8Array => {
      const code = new TextDecoder().decode(unzipSync(digits)[`digits/${codeFile}`]);
      return withFiles({ [codeFile]: strToU8(code.replace('  training : bool\n', `  training : bool\n${added}`)) });
    };

    /** Reads a file; tells how many classes of it were known when what it needs had come. */
    async function classesBefore(file: Uint8Array, arrive = (): void => {}): Promise<number> {
      const registered = vi.spyOn(CompilationUnit.prototype, 'registerType');
      try {
        let before = 0;
        const { module } = await readModule(file, {
          beforeCompiling: async () => {
            await new Promise((resolve) => setTimeout(resolve));
            before = registered.mock.calls.length;
            arrive();
          },
        });
        expect(module.type.name).toBe('DigitClassifier');
        return before;
      } finally {
        registered.mockRestore();
      }
    }

    it('reads objects', async () => {
      expect(await classesBefore(digits)).toBeGreaterThan(5);
    });

    it('waits where reading compiles something', async () => {
      expect(await classesBefore(withCode('  # it has a __setstate__\n'))).toBe(0);
    });

    it('reads again what could not be read without it', async () => {
      const name = '__torch__.torch.classes.testing.Late';
      const file = withCode(`  late : Optional[${name}]\n`);
      await expect(readModule(file)).rejects.toThrow('Late');
      expect(await classesBefore(file, () => registerCustomClass(new ClassType(name)))).toBeGreaterThan(0);
    });

    it('fails where that cannot be had', async () => {
      const beforeCompiling = (): Promise<void> => Promise.reject(new CressetError('PART_MISSING', 'not here'));
      expect(await failure(readModule(digits, { beforeCompiling }))).toMatchObject({ code: 'PART_MISSING' });
    });
  });

  it('gives extra files', async () => {
    const { extraFiles } = await readModule(withFiles({ 'extra/labels.txt': strToU8('0 1 2') }));
    expect(new TextDecoder().decode(extraFiles.get('labels.txt'))).toBe('0 1 2');
  });

  it('refuses versions it does not know, and finds the version in both places', async () => {
    expect((await failure(readModule(withFiles({ version: strToU8('11\n') })))).code).toBe('ARCHIVE_VERSION');
    expect((await failure(readModule(withFiles({ version: strToU8('-1') })))).code).toBe('ARCHIVE_VERSION');
    expect((await readModule(withFiles({ version: null, '.data/version': strToU8('10\n') }))).formatVersion).toBe(10);
    expect((await failure(readModule(withFiles({ version: null, '.data/version': null })))).code).toBe(
      'ARCHIVE_VERSION',
    );
    expect((await failure(readModule(withFiles({ byteorder: strToU8('middle') })))).code).toBe('ARCHIVE_BYTE_ORDER');
  });

  it('refuses records that are missing or too short', async () => {
    expect((await failure(readModule(withFiles({ 'data/0': null })))).code).toBe('ARCHIVE_NO_STORAGE');
    expect((await failure(readModule(withFiles({ 'data/0': new Uint8Array(2) })))).code).toBe('ARCHIVE_STORAGE_SIZE');
  });

  it('runs nothing that a pickle names', async () => {
    const evil = strToU8('\x80\x02cos\nsystem\nX\x04\0\0\0echo\x85R.', true);
    const error = await failure(readModule(withFiles({ 'data.pkl': evil })));
    expect(error.code).toBe('PICKLE_FORBIDDEN_GLOBAL');
    expect(error.message).toContain("'os.system'");
  });

  it('gives the byte counts of a file cut short', async () => {
    const error = await failure(readModule(new MemorySource(digits.subarray(0, 100_000), 'digits.pt')));
    expect(error.message).toContain('100000');
    expect(error.message).toContain('digits.pt');
  });

  it.each([
    ['FILE_EMPTY', ''],
    ['FILE_IS_HTML', '<!DOCTYPE html><html><body>Not Found</body></html>'],
    ['FILE_IS_LFS_POINTER', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n'],
    ['FILE_IS_SAFETENSORS', '\x3c\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}   '],
    ['FILE_IS_GGUF', 'GGUF\x03\0\0\0'],
    ['FILE_IS_ONNX', '\x08\x08\x12\x07pytorch'],
    ['FILE_IS_HDF5', '\x89HDF\r\n\x1a\n'],
    ['FILE_IS_PICKLE', '\x80\x04K\x01.'],
    ['FILE_IS_NPY', "\x93NUMPY\x01\0v\0{'descr': '<f4'"],
    ['FILE_IS_GZIP', '\x1f\x8b\x08\0'],
    ['FILE_IS_COMPRESSED', '\xfd7zXZ\0'],
    ['FILE_IS_TAR', `sys_info${'\0'.repeat(249)}ustar`],
    ['FILE_IS_TFLITE', '\x1c\0\0\0TFL3'],
    ['FILE_IS_SAVED_MODEL', '\x08\x01\x12\xad\x10\x0a\x07serve'],
    ['FILE_IS_COREML', '\x08\x05\x12\x40\x0a\x10input'],
    ['FILE_IS_JSON', '{"weight_map": {}}'],
    ['FILE_IS_HTML', '\xef\xbb\xbf\n<html>'],
    ['FILE_UNKNOWN', 'just some text'],
  ])('says %s for a file of another kind', async (code, text) => {
    const error = await failure(readModule(strToU8(text, true)));
    expect(error.code).toBe(code);
    expect(error.message.length).toBeGreaterThan(30);
  });

  it('says what a zip of another kind is', async () => {
    const zip = (names: string[]): Uint8Array => zipSync(Object.fromEntries(names.map((name) => [name, strToU8('x')])));
    const codeOf = async (names: string[]): Promise<string> => (await failure(readModule(zip(names)))).code;
    expect(await codeOf(['m/archive_format', 'm/models/model.json'])).toBe('EXPORT_VERSION');
    expect(await codeOf(['a.npy', 'b.npy'])).toBe('FILE_IS_NPZ');
    expect(await codeOf(['folder/model.pt', 'folder/readme.txt'])).toBe('FILE_IS_ZIP');
  });

  it('stops when it is aborted, and says why', async () => {
    const stopped = (signal: AbortSignal): Promise<Error> => failure(readModule(digits, { signal }));
    expect(await stopped(AbortSignal.abort())).toMatchObject({ name: 'AbortError', message: 'the call was aborted' });
    const reason = new Error('the page was left');
    expect(await stopped(AbortSignal.abort(reason))).toMatchObject({
      code: 'ABORTED',
      name: 'AbortError',
      message: 'the call was aborted: the page was left',
      cause: reason,
    });
    expect(await stopped(AbortSignal.abort('enough'))).toMatchObject({ message: 'the call was aborted: enough' });
    const late = AbortSignal.timeout(0);
    await new Promise((resolve) => late.addEventListener('abort', resolve));
    expect(await stopped(late)).toMatchObject({ code: 'ABORTED', name: 'TimeoutError', cause: late.reason });
  });

  it('gives a module or a CressetError for any damage, in bounded time', async () => {
    // Stored again without checksums, so that damage reaches the pickles and the code.
    const bytes = withoutChecksums(withFiles({}));
    const places = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 });
    const pickles = stretchesOf(bytes, /\.(pkl|py)$/);
    const aimed = fc.array(
      fc
        .tuple(fc.constantFrom(...pickles), fc.nat(), fc.nat(255))
        .map(([[start, length], at, value]) => [start + (at % length), value] as [number, number]),
      { minLength: 1, maxLength: 6 },
    );
    let slowest = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(places, aimed), async (changes) => {
        const damaged = bytes.slice();
        for (const [at, value] of changes) damaged[at] = value;
        const start = processorSeconds();
        try {
          await readModule(damaged);
        } catch (error) {
          if (!(error instanceof CressetError)) throw error;
        }
        slowest = Math.max(slowest, processorSeconds() - start);
      }),
      { numRuns: 400 },
    );
    expect(slowest).toBeLessThan(10);
  }, 600_000);
});

/** Sets the CRC of every entry of the directory to 0, which is "not computed". */
function withoutChecksums(zip: Uint8Array): Uint8Array {
  const view = new DataView(zip.buffer);
  for (let at = 0; at + 46 < zip.length; at++)
    if (view.getUint32(at, true) === 0x02014b50) view.setUint32(at + 16, 0, true);
  return zip;
}

/** Offset and length of the contents of stored entries. */
function stretchesOf(zip: Uint8Array, pattern: RegExp): (readonly [number, number])[] {
  const view = new DataView(zip.buffer);
  const found: (readonly [number, number])[] = [];
  for (let at = 0; at + 46 < zip.length; at++) {
    if (view.getUint32(at, true) !== 0x02014b50) continue;
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(zip.subarray(at + 46, at + 46 + nameLength));
    const header = view.getUint32(at + 42, true);
    const start = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
    if (pattern.test(name)) found.push([start, view.getUint32(at + 24, true)]);
  }
  return found;
}

const shared = new URL('../../../../shared/models/', import.meta.url);

describe.skipIf(!existsSync(shared))('readModule, over the corpus beside the project', () => {
  const files = existsSync(shared)
    ? (readdirSync(shared, { recursive: true }) as string[]).filter(
        (name) => /\.ptl?$/.test(name) && !name.startsWith('checkpoints'),
      )
    : [];

  it.each(files)('reads %s', async (name) => {
    const { module } = await readModule(new Uint8Array(readFileSync(new URL(name, shared))));
    expect(module.type.methods.length).toBeGreaterThan(0);
  });
});
