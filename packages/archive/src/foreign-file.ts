import { CressetError } from '@cresset/ir';
import type { Tensor } from '@cresset/tensor';
import { GIVEN_FILE, type ByteSource } from './sources/byte-source.ts';
import { archiveRoot } from './archive-layout.ts';
import { describeCheckpoint, describeTensor, isLegacyCheckpoint } from './checkpoint/checkpoint-reader.ts';
import type { ZipReader } from './zip/zip-reader.ts';

const FRONT_BYTES = 512;
const TENSORS_LISTED = 6;
const MAX_SAFETENSORS_HEADER = 100 << 20;

const SAVE_AS_PROGRAM = `In Python, put the weights into their module and save that as a program:
    torch.jit.script(model.eval()).save("model.pt")    # or torch.jit.trace(model.eval(), example_input)`;

const SAVE_INSTEAD = `Save the PyTorch model it was made from as TorchScript instead:
    torch.jit.script(model.eval()).save("model.pt")    # or torch.jit.trace(model.eval(), example_input)`;

/**
 * The error for a file that is not a zip: it says what the file is and what to do. Codes: `FILE_EMPTY`, `FILE_IS_…`,
 * `FILE_UNKNOWN`; a pickle that names what it must not gives its own error.
 */
export async function foreignFileError(source: ByteSource, zipError: CressetError): Promise<CressetError> {
  const { name, size } = source;
  if (size === 0) {
    const orGone = name === GIVEN_FILE ? ', or they were transferred to somebody else' : '';
    return new CressetError('FILE_EMPTY', `${name} is empty: it has 0 bytes${orGone}`);
  }
  const front = await source.read(0, Math.min(size, FRONT_BYTES));
  // One character a byte; what TextDecoder calls latin1 is another encoding from 0x80 to 0x9f.
  const text = String.fromCharCode(...front);
  // It begins as a zip should: then it is a damaged one, mostly cut short.
  if (text.startsWith('PK\x03\x04')) return zipError;

  if (isLegacyCheckpoint(front)) return checkpointError(source, null);
  if (/^\x80[\x02-\x05]/.test(text)) {
    return new CressetError(
      'FILE_IS_PICKLE',
      `${name} is a Python pickle and not a file of PyTorch's own. ${SAVE_INSTEAD}`,
    );
  }
  if (/^(\xef\xbb\xbf)?\s*(<!doctype html|<html|<head|<\?xml|<!--)/i.test(text)) {
    return new CressetError(
      'FILE_IS_HTML',
      `${name} is a web page (${size} bytes) and not a model: the address is wrong, or the server answered with an error or login page. Open it in a browser tab to see`,
    );
  }
  if (text.startsWith('version https://git-lfs')) {
    return new CressetError(
      'FILE_IS_LFS_POINTER',
      `${name} is a Git LFS pointer (${size} bytes) that stands for the model and not the model: fetch the file itself with 'git lfs pull'`,
    );
  }
  const safetensors = await safetensorsError(source, front);
  if (safetensors) return safetensors;

  const known = KNOWN_BEGINNINGS.find(({ beginning }) => beginning.test(text));
  if (known) return new CressetError(known.code, `${name} is ${known.what}. ${known.advice ?? SAVE_INSTEAD}`);
  return new CressetError(
    'FILE_UNKNOWN',
    `${name} (${size} bytes) is not a TorchScript file: it is no zip and begins with ${JSON.stringify(text.slice(0, 16))}. ${SAVE_INSTEAD}`,
  );
}

const UNPACK = 'Unpack it, and load the .pt file that was packed';

const KNOWN_BEGINNINGS: readonly { code: string; what: string; beginning: RegExp; advice?: string }[] = [
  { code: 'FILE_IS_GGUF', what: 'a GGUF file, made for llama.cpp', beginning: /^GGUF/ },
  { code: 'FILE_IS_TFLITE', what: 'a TensorFlow Lite model', beginning: /^[^]{4}TFL3/ },
  { code: 'FILE_IS_EXECUTORCH', what: 'an ExecuTorch program (.pte)', beginning: /^[^]{4}ET\d\d/ },
  { code: 'FILE_IS_HDF5', what: 'an HDF5 file, as Keras writes it', beginning: /^\x89HDF/ },
  {
    code: 'FILE_IS_NPY',
    what: 'a NumPy array (.npy): numbers and no program',
    beginning: /^\x93NUMPY/,
    advice: SAVE_AS_PROGRAM,
  },
  { code: 'FILE_IS_GZIP', what: 'compressed with gzip', beginning: /^\x1f\x8b/, advice: UNPACK },
  {
    code: 'FILE_IS_COMPRESSED',
    what: 'a compressed file (bzip2, xz, Zstandard, 7z or RAR)',
    beginning: /^(BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!)/,
    advice: UNPACK,
  },
  {
    code: 'FILE_IS_TAR',
    what: 'a tar archive, as PyTorch wrote before 0.2 or a packaged model',
    beginning: /^[^]{257}ustar/,
    advice: UNPACK,
  },
  { code: 'FILE_IS_JSON', what: 'a JSON text', beginning: /^\s*[{[]\s*["{[\]}]/ },
  // Protocol buffers. The first field is a small version; the next is a graph with its tags in TensorFlow's, a description of the inputs in
  // Core ML's, and a producer, a domain, an opset or the graph in ONNX's.
  { code: 'FILE_IS_SAVED_MODEL', what: 'a TensorFlow SavedModel', beginning: /^\x08\x01\x12[^]{1,5}\x0a/ },
  { code: 'FILE_IS_COREML', what: 'a Core ML model', beginning: /^\x08[\x02-\x20]\x12[^]{1,3}\x0a/ },
  { code: 'FILE_IS_ONNX', what: 'an ONNX model', beginning: /^\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]/ },
];

/** A safetensors file begins with the length of a JSON header that lists its tensors. */
async function safetensorsError(source: ByteSource, front: Uint8Array): Promise<CressetError | null> {
  if (front.length < 10 || front[8] !== 0x7b) return null;
  const length = new DataView(front.buffer, front.byteOffset).getBigUint64(0, true);
  if (length > BigInt(Math.min(source.size - 8, MAX_SAFETENSORS_HEADER))) return null;
  let header: Record<string, { dtype?: unknown; shape?: unknown }>;
  try {
    header = JSON.parse(new TextDecoder().decode(await source.read(8, Number(length)))) as typeof header;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const tensors = Object.entries(header)
    .filter(([key]) => key !== '__metadata__')
    .map(([key, value]) => `${key} ${String(value?.dtype)} [${String(value?.shape)}]`);
  return new CressetError(
    'FILE_IS_SAFETENSORS',
    `${source.name} is a safetensors file: weights and no program, ${listOf(tensors)}. ${SAVE_AS_PROGRAM}`,
  );
}

/** The error for a zip that holds no TorchScript program. */
export async function foreignZipError(source: ByteSource, zip: ZipReader): Promise<CressetError> {
  const { name } = source;
  const names = [...zip.entries.keys()];
  const has = (pattern: RegExp): boolean => names.some((each) => pattern.test(each));
  if (has(/^[^/]*\/(archive_format|models\/[^/]+\.json)$/) || has(/(^|\/)serialized_exported_program\.json$/)) {
    return new CressetError(
      'FILE_IS_EXPORTED_PROGRAM',
      `${name} is a program of torch.export (.pt2) and no checkpoint: load() loads it`,
    );
  }
  if (has(/(^|\/)model\.json$/) && has(/(^|\/)(tensors|code)\//)) {
    return new CressetError(
      'FILE_IS_LEGACY_ARCHIVE',
      `${name} is a TorchScript file in the layout of PyTorch 1.0 to 1.3 (model.json): load() loads it`,
    );
  }
  if (zip.has(`${archiveRoot(zip)}data.pkl`)) return checkpointError(source, zip);
  if (has(/^MAR-INF\//)) {
    return new CressetError(
      'FILE_IS_MAR',
      `${name} is a TorchServe archive (.mar): unpack it and load the .pt file in it`,
    );
  }
  if (has(/\.npy$/))
    return new CressetError('FILE_IS_NPZ', `${name} is an archive of NumPy arrays (.npz). ${SAVE_AS_PROGRAM}`);
  if (has(/(^|\/)(model\.weights\.h5|keras_metadata\.pb)$/))
    return new CressetError('FILE_IS_KERAS', `${name} is a Keras model. ${SAVE_INSTEAD}`);
  const inside = names.find((each) => /\.(pt|pth|ptl)$/.test(each));
  return new CressetError(
    'FILE_IS_ZIP',
    `${name} is a zip file without a TorchScript program (${listOf(names)})${inside ? `; unpack it and load '${inside}'` : ''}`,
  );
}

async function checkpointError(source: ByteSource, zip: ZipReader | null): Promise<CressetError> {
  let checkpoint;
  try {
    checkpoint = await describeCheckpoint(source, zip);
  } catch (error) {
    if (error instanceof CressetError) return error;
    throw error;
  }
  const { tensors, moduleClass } = checkpoint;
  const list = listOf([...tensors].map(([path, tensor]: [string, Tensor]) => `${path} ${describeTensor(tensor)}`));
  if (moduleClass !== null) {
    return new CressetError(
      'FILE_IS_PICKLED_MODULE',
      `${source.name} is a pickled nn.Module of class '${moduleClass}' (torch.save of a whole model): its tensors are here, ${list}, but its code is in Python files elsewhere. In Python, save it as a program:
    torch.jit.script(torch.load("${fileName(source.name)}", weights_only=False).eval()).save("model.pt")    # or torch.jit.trace`,
    );
  }
  return new CressetError(
    'FILE_IS_CHECKPOINT',
    `${source.name} is a checkpoint (torch.save): weights and no program, ${list}. loadCheckpoint() reads them. ${SAVE_AS_PROGRAM}`,
  );
}

/** The name under which Python would read it. */
function fileName(name: string): string {
  return name === GIVEN_FILE ? 'model.pth' : name.slice(name.lastIndexOf('/') + 1);
}

function listOf(items: readonly string[]): string {
  const shown = items.slice(0, TENSORS_LISTED).join('; ');
  const more = items.length - TENSORS_LISTED;
  return `${items.length} ${items.length === 1 ? 'entry' : 'entries'}${shown === '' ? '' : `: ${shown}`}${more > 0 ? ` and ${more} more` : ''}`;
}
