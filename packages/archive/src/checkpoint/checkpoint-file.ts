import { CressetError } from '@cresset/ir';
import { abortable, type ByteSource, type TransferOptions } from '../sources/byte-source.ts';
import { readCheckpoint, type Checkpoint } from './checkpoint-reader.ts';
import { foreignFileError, foreignZipError } from '../foreign-file.ts';
import { openSource, type ModuleInput, type SentInput } from '../module-reader.ts';
import { ZipReader } from '../zip/zip-reader.ts';

/**
 * Reads a file of `torch.save` to tensors by name (torch.load): a state dict, or anything else that holds tensors, whose names are
 * then joined by dots.
 *
 * Throws a CressetError; a file of another kind gives one whose code starts with `FILE_` and says what it is.
 */
export async function readCheckpointFile(
  input: ModuleInput | SentInput,
  options: TransferOptions = {},
): Promise<Checkpoint> {
  const { signal, onProgress } = options;
  const source = await openSource(input, options);
  try {
    const checkpoint = await abortable(readCheckpoint(source), signal);
    onProgress?.({ loaded: source.size, total: source.size });
    return checkpoint;
  } catch (error) {
    if (!signal?.aborted && !String((error as CressetError).code).startsWith('DOWNLOAD_')) await source.discard?.();
    throw error instanceof CressetError ? await inOtherTerms(source, error) : error;
  }
}

/** What is wrong, where it is that the file is of another kind. */
async function inOtherTerms(source: ByteSource, error: CressetError): Promise<CressetError> {
  switch (error.code) {
    case 'ARCHIVE_NO_CLASS':
      return new CressetError(
        'FILE_IS_TORCHSCRIPT',
        `${source.name} is a TorchScript program and no checkpoint: load() loads it, and parameters() gives its weights`,
        { cause: error },
      );
    case 'ZIP_NO_ENTRY':
      return foreignZipError(source, await ZipReader.open(source));
    case 'ZIP_NO_DIRECTORY':
      return foreignFileError(source, error);
    default:
      return error;
  }
}
