import { concat, mutateBytes } from './byte-mutation.ts';
import type { Random } from './random.ts';

const text = (characters: string): Uint8Array => Uint8Array.from(characters, (each) => each.charCodeAt(0));

const uint32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
};

/** Opcodes that take no argument: put anywhere, they move the stack. */
const BARE_OPCODES = text('(]}).012NRabdelsutQ\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94');

const GLOBALS = [
  'os\nsystem',
  'builtins\neval',
  'torch._utils\n_rebuild_tensor_v2',
  'torch._utils\n_rebuild_parameter',
  'torch.jit._pickle\nbuild_intlist',
  'torch.jit._pickle\nrestore_type_tag',
  'collections\nOrderedDict',
  '__torch__\nMissing',
  '__torch__.program\nMode',
  'torch\nFloatStorage',
  'torch\ndevice',
];

type Mutation = (pickle: Uint8Array, random: Random) => Uint8Array;

const mutations: readonly Mutation[] = [
  mutateBytes,
  (pickle, random) => insert(pickle, random, BARE_OPCODES.subarray(random.below(BARE_OPCODES.length)).slice(0, 1)),
  (pickle, random) => insert(pickle, random, text(`c${random.pick(GLOBALS)}\n`)),
  // Recalls something else, or before it was put there.
  (pickle, random) => insert(pickle, random, Uint8Array.of(0x68, random.below(64))),
  (pickle, random) => insert(pickle, random, concat([text('j'), uint32(random.below(2 ** 32))])),
  (pickle, random) => insert(pickle, random, concat([text('r'), uint32(random.pick([0, 3, 0xffffffff]))])),
  // A list, dict or tuple that holds itself.
  (pickle, random) => insert(pickle, random, text(random.pick([']q\x01h\x01a', '}q\x01X\x01\x00\x00\x00ah\x01s']))),
  (pickle, random) => insert(pickle, random, deepContainer(random)),
  (pickle, random) => insert(pickle, random, doublingList(random)),
  (pickle, random) => insert(pickle, random, repeatedReduce(random)),
  (pickle, random) => insert(pickle, random, concat([text(random.pick(['X', 'T', 'B', '\x8b'])), uint32(0xfffffff0)])),
  (pickle, random) =>
    insert(
      pickle,
      random,
      concat([text(random.pick(['\x8d', '\x8e', '\x96', '\x95'])), uint32(0xffffffff), uint32(0xffffffff)]),
    ),
  (pickle, random) => insert(pickle, random, text(`L${'9'.repeat(1 + random.below(2000))}L\n`)),
];

/** Edits a pickle's program: single bytes, and opcodes that make sense by themselves. */
export function mutatePickle(pickle: Uint8Array, random: Random): Uint8Array {
  let result: Uint8Array = pickle.slice();
  for (let times = random.count(); times > 0 && result.length > 0; times--) {
    result = random.pick(mutations)(result, random);
  }
  return result;
}

function insert(pickle: Uint8Array, random: Random, piece: Uint8Array): Uint8Array {
  const at = random.below(pickle.length);
  return concat([pickle.subarray(0, at), piece, pickle.subarray(at)]);
}

function deepContainer(random: Random): Uint8Array {
  const depth = random.pick([10, 1000, 50_000]);
  const [open, innermost, close] = random.pick([
    [']', '', 'a'],
    ['(', '', 't'],
    ['', ')', '\x85'],
    ['}K\x01', 'N', 's'],
    [`c${random.pick(GLOBALS)}\n`, ')', '\x85R'],
  ]);
  return text(open.repeat(depth) + innermost + close.repeat(depth));
}

/** Each list holds the one before it twice: small to write, exponential for whoever walks it as a tree. */
function doublingList(random: Random): Uint8Array {
  const [first, twice] = random.pick([
    [']', '](h\x01h\x01e'],
    [')', 'h\x01h\x01\x86'],
    ['}', '}(K\x01h\x01K\x02h\x01u'],
  ]);
  return text(`${first}q\x01${`${twice}q\x01`.repeat(random.pick([4, 30, 200]))}`);
}

/** Calls something that copies its argument, many times with one long argument. */
function repeatedReduce(random: Random): Uint8Array {
  const length = random.pick([10, 1000, 20_000]);
  const list = `](${'K\x01'.repeat(length)}eq\x02`;
  const call = `c${random.pick(['torch.jit._pickle\nbuild_intlist', 'torch\nSize', 'builtins\nset'])}\nq\x03`;
  return text(list + call + 'h\x03h\x02\x85R'.repeat(random.pick([1, 100, 5000])));
}
