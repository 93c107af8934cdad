import { AnyType, CressetError } from '@cresset/ir';
import { Dict, fromBytes, List, ScriptObject, Tensor, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { OpaqueObject, PickleGlobal, PickleSet, type PickleValue } from './pickle-value.ts';

/** What an unpickler asks the file's reader. */
export interface PickleEnvironment {
  /** What the pickle may have under this name, or null where it may not have it. */
  findGlobal(module: string, name: string): PickleGlobal | null;
  /** The value behind a persistent id: in PyTorch's files, a storage. */
  persistentLoad(id: PickleValue): PickleValue;
  /** Gives an instance its state (BUILD). */
  build(instance: ScriptObject, state: PickleValue): void;
}

/** Python's integers are unbounded; no file needs more than this many bytes for one. */
const MAX_LONG_BYTES = 1024;
const MAX_LINE_BYTES = 4096;

/**
 * Reads pickles of protocols 0 to 5 as data (torch::jit::Unpickler).
 *
 * A pickle is a program for a stack machine that can name any Python function and have it called. Here a name is looked up in
 * the environment's fixed list and anything else is refused, so nothing in a file is ever run. Memory stays proportional to
 * the pickle, and so does time. Throws a CressetError whose code starts with `PICKLE_`.
 */
export class Unpickler {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #environment: PickleEnvironment;
  readonly #name: string;
  readonly #memo = new Map<number, PickleValue>();
  /** Objects that were made and got no state yet: PyTorch makes them when it has their state. */
  readonly #stateless = new Set<ScriptObject>();
  /** Heights of the stack at each MARK. */
  #marks: number[] = [];
  #stack: PickleValue[] = [];
  #at: number;

  /** @param name what an error message calls the pickle. */
  constructor(bytes: Uint8Array, environment: PickleEnvironment, name: string, offset = 0) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#environment = environment;
    this.#name = name;
    this.#at = offset;
  }

  /** Offset of the first byte that has not been read. */
  get position(): number {
    return this.#at;
  }

  /** Reads one pickle, to its STOP. */
  load(): PickleValue {
    this.#stack = [];
    this.#marks = [];
    this.#memo.clear();
    this.#stateless.clear();
    for (;;) {
      const opcode = this.uint8();
      if (opcode === STOP) return this.#end();
      const run = operations[opcode];
      if (!run) {
        throw this.#error(
          'PICKLE_UNSUPPORTED_OPCODE',
          `has opcode 0x${opcode.toString(16).padStart(2, '0')} at byte ${this.#at - 1}, which no file of PyTorch has`,
        );
      }
      run(this);
    }
  }

  #end(): PickleValue {
    for (const { type } of this.#stateless) {
      throw this.malformed(`makes an object of class '${type.qualifiedName}' and gives it no state`);
    }
    return this.#pop();
  }

  // ---- reading

  #take(count: number): number {
    const at = this.#at;
    // Lengths in a pickle have up to 64 bits and are never believed.
    if (!(count <= this.#bytes.byteLength - at)) {
      throw this.#error('PICKLE_TRUNCATED', `ends after ${this.#bytes.byteLength} bytes, in the middle of a value`);
    }
    this.#at = at + count;
    return at;
  }

  uint8(): number {
    // Without a call of `#take`, which says what is wrong at the end: each opcode is read here.
    if (this.#at >= this.#bytes.byteLength) this.#take(1);
    return this.#bytes[this.#at++];
  }

  uint16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  int32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  uint64(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true));
  }

  float64(): number {
    return this.#view.getFloat64(this.#take(8), false);
  }

  bytes(length: number): Uint8Array {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  byteString(length: number): string {
    return fromBytes(this.bytes(length));
  }

  line(): string {
    const end = this.#bytes.indexOf(10, this.#at);
    if (end < 0 || end - this.#at > MAX_LINE_BYTES) throw this.malformed('has a line of text that does not end');
    const text = fromBytes(this.#bytes.subarray(this.#at, end));
    this.#at = end + 1;
    return text;
  }

  /** A two's complement integer of `length` bytes, little-endian. */
  long(length: number): bigint {
    if (length > MAX_LONG_BYTES) throw this.malformed(`has an integer of ${length} bytes`);
    const digits = this.bytes(length);
    if (length === 0) return 0n;
    let hex = '0x';
    for (let at = length - 1; at >= 0; at--) hex += digits[at].toString(16).padStart(2, '0');
    return BigInt.asIntN(8 * length, BigInt(hex));
  }

  integer(text: string): bigint {
    if (!/^[+-]?\d{1,1024}$/.test(text)) throw this.malformed(`has '${text.slice(0, 40)}' where an integer should be`);
    return BigInt(text);
  }

  // ---- the stack

  push(value: PickleValue): void {
    this.#stack.push(value);
  }

  #floor(): number {
    return this.#marks.at(-1) ?? 0;
  }

  #pop(): PickleValue {
    if (this.#stack.length <= this.#floor()) throw this.malformed('takes a value that is not there');
    return this.#stack.pop()!;
  }

  pop(): PickleValue {
    return this.#pop();
  }

  top(): PickleValue {
    if (this.#stack.length <= this.#floor()) throw this.malformed('takes a value that is not there');
    return this.#stack[this.#stack.length - 1];
  }

  mark(): void {
    this.#marks.push(this.#stack.length);
  }

  popMark(): PickleValue[] {
    const height = this.#marks.pop();
    if (height === undefined) throw this.malformed('goes back to a mark that is not there');
    return this.#stack.splice(height);
  }

  /** POP takes a mark where that is on top. */
  popAny(): void {
    if (this.#marks.length > 0 && this.#stack.length === this.#floor()) this.#marks.pop();
    else this.#pop();
  }

  memoize(index = this.#memo.size): void {
    this.#memo.set(index, this.top());
  }

  recall(index: number): void {
    const value = this.#memo.get(index);
    if (value === undefined) throw this.malformed(`refers to value ${index}, which it does not have`);
    this.push(value);
  }

  // ---- building

  append(values: readonly PickleValue[]): void {
    const target = this.top();
    if (target instanceof List) for (const value of values) target.items.push(value as IValue);
    else if (target instanceof PickleSet) for (const value of values) target.items.push(value);
    else if (!(target instanceof OpaqueObject)) throw this.malformed('appends to something that is no list');
  }

  setItems(values: readonly PickleValue[]): void {
    const target = this.top();
    if (target instanceof OpaqueObject) return;
    if (!(target instanceof Dict) || values.length % 2 !== 0)
      throw this.malformed('sets items of something that is no dict');
    for (let at = 0; at < values.length; at += 2) target.entries.set(this.#key(values[at]), values[at + 1] as IValue);
  }

  #key(value: PickleValue): DictKey {
    if (value === null || value instanceof List || value instanceof Dict || value instanceof PickleSet) {
      throw this.malformed('has a dict with a key that cannot be one');
    }
    // Tuples and the like count by identity, which is enough for the files that have them as keys.
    return value as DictKey;
  }

  global(module: string, name: string): PickleGlobal {
    const found = this.#environment.findGlobal(module, name);
    if (found) return found;
    throw this.#error(
      'PICKLE_FORBIDDEN_GLOBAL',
      `names '${module}.${name}', which is not on the list of what a file may hold. Nothing of it was run; do not load the file in Python either unless you trust where it comes from`,
    );
  }

  stackGlobal(): void {
    const name = this.pop();
    const module = this.pop();
    if (typeof name !== 'string' || typeof module !== 'string')
      throw this.malformed('names a global by something that is no text');
    this.push(this.global(module, name));
  }

  reduce(): void {
    const args = this.pop();
    const callee = this.pop();
    if (!(callee instanceof PickleGlobal) || !callee.call)
      throw this.malformed('calls something that cannot be called');
    // PyTorch's own pickler writes the value of an enum's member without a tuple around it.
    this.push(callee.call(args instanceof Tuple ? (args.items as readonly PickleValue[]) : [args]));
  }

  instantiate(callee: PickleValue): void {
    if (!(callee instanceof PickleGlobal) || !callee.instantiate)
      throw this.malformed('makes an instance of something that is no class');
    const instance = callee.instantiate();
    if (instance instanceof ScriptObject) this.#stateless.add(instance);
    this.push(instance);
  }

  build(): void {
    const state = this.pop();
    const instance = this.top();
    if (instance instanceof ScriptObject) {
      this.#stateless.delete(instance);
      this.#environment.build(instance, state);
    } else if (instance instanceof OpaqueObject) instance.state = state;
    // The first picklers of TorchScript called a function by giving a state to an instance of it.
    else if (instance instanceof PickleGlobal && instance.call)
      this.#stack[this.#stack.length - 1] = instance.call([state]);
    // The attributes of a Python dict or tensor (a state_dict's `_metadata`): nothing that counts here.
    else if (!(instance instanceof Dict) && !(instance instanceof Tensor))
      throw this.malformed('gives a state to something that has none');
  }

  persistentLoad(id: PickleValue): void {
    this.push(this.#environment.persistentLoad(id));
  }

  // ---- errors

  #error(code: string, what: string): CressetError {
    return new CressetError(code, `${this.#name} ${what}`);
  }

  malformed(what: string): CressetError {
    return this.#error('PICKLE_MALFORMED', `is damaged: it ${what} (near byte ${this.#at})`);
  }
}

const STOP = 0x2e;

type Operation = (machine: Unpickler) => void;

/** Operations by opcode. Names are those of Python's pickletools. */
const operations: (Operation | undefined)[] = [];

function define(character: string | number, operation: Operation): void {
  operations[typeof character === 'number' ? character : character.charCodeAt(0)] = operation;
}

const newList = (items: PickleValue[]): List => new List(AnyType.get(), items as IValue[]);
const newDict = (): Dict => new Dict(AnyType.get(), AnyType.get());
const newTuple = (items: readonly PickleValue[]): Tuple => new Tuple(items as readonly IValue[]);

// Framing
define(0x80, (m) => void m.uint8()); // PROTO
define(0x95, (m) => void m.uint64()); // FRAME

// Constants and numbers
define('N', (m) => m.push(null)); // NONE
define(0x88, (m) => m.push(true)); // NEWTRUE
define(0x89, (m) => m.push(false)); // NEWFALSE
define('K', (m) => m.push(BigInt(m.uint8()))); // BININT1
define('M', (m) => m.push(BigInt(m.uint16()))); // BININT2
define('J', (m) => m.push(BigInt(m.int32()))); // BININT
define('G', (m) => m.push(m.float64())); // BINFLOAT
define(0x8a, (m) => m.push(m.long(m.uint8()))); // LONG1
define(0x8b, (m) => m.push(m.long(m.uint32()))); // LONG4
define('I', (m) => {
  // INT; protocols 0 and 1 write booleans so.
  const text = m.line();
  m.push(text === '00' ? false : text === '01' ? true : m.integer(text));
});
define('L', (m) => m.push(m.integer(m.line().replace(/L$/, '')))); // LONG
define('F', (m) => {
  const text = m.line();
  const value = text === 'inf' ? Infinity : text === '-inf' ? -Infinity : Number(text);
  if (text.trim() === '' || (Number.isNaN(value) && text !== 'nan'))
    throw m.malformed('has text where a number should be');
  m.push(value);
}); // FLOAT

// Text and bytes
define('X', (m) => m.push(m.byteString(m.uint32()))); // BINUNICODE
define(0x8c, (m) => m.push(m.byteString(m.uint8()))); // SHORT_BINUNICODE
define(0x8d, (m) => m.push(m.byteString(m.uint64()))); // BINUNICODE8
define('T', (m) => m.push(m.byteString(m.uint32()))); // BINSTRING
define('U', (m) => m.push(m.byteString(m.uint8()))); // SHORT_BINSTRING
define('V', (m) => m.push(m.line())); // UNICODE
define('S', (m) => {
  const quoted = /^(['"])(.*)\1$/.exec(m.line());
  if (!quoted) throw m.malformed('has a string without quotes');
  m.push(quoted[2]);
}); // STRING
define('B', (m) => m.push(m.bytes(m.uint32()))); // BINBYTES
define('C', (m) => m.push(m.bytes(m.uint8()))); // SHORT_BINBYTES
define(0x8e, (m) => m.push(m.bytes(m.uint64()))); // BINBYTES8
define(0x96, (m) => m.push(m.bytes(m.uint64()))); // BYTEARRAY8

// Containers
define('(', (m) => m.mark()); // MARK
define(']', (m) => m.push(newList([]))); // EMPTY_LIST
define('l', (m) => m.push(newList(m.popMark()))); // LIST
define('a', (m) => {
  const value = m.pop();
  m.append([value]);
}); // APPEND
define('e', (m) => {
  const values = m.popMark();
  m.append(values);
}); // APPENDS
define('}', (m) => m.push(newDict())); // EMPTY_DICT
define('d', (m) => {
  const values = m.popMark();
  m.push(newDict());
  m.setItems(values);
}); // DICT
define('s', (m) => {
  const value = m.pop();
  const key = m.pop();
  m.setItems([key, value]);
}); // SETITEM
define('u', (m) => {
  const values = m.popMark();
  m.setItems(values);
}); // SETITEMS
define(')', (m) => m.push(newTuple([]))); // EMPTY_TUPLE
define('t', (m) => m.push(newTuple(m.popMark()))); // TUPLE
define(0x85, (m) => m.push(newTuple([m.pop()]))); // TUPLE1
define(0x86, (m) => {
  const second = m.pop();
  m.push(newTuple([m.pop(), second]));
}); // TUPLE2
define(0x87, (m) => {
  const third = m.pop();
  const second = m.pop();
  m.push(newTuple([m.pop(), second, third]));
}); // TUPLE3
define(0x8f, (m) => m.push(new PickleSet([]))); // EMPTY_SET
define(0x90, (m) => {
  const values = m.popMark();
  m.append(values);
}); // ADDITEMS
define(0x91, (m) => m.push(new PickleSet(m.popMark()))); // FROZENSET

// The stack and the memo
define('0', (m) => m.popAny()); // POP
define('1', (m) => void m.popMark()); // POP_MARK
define('2', (m) => m.push(m.top())); // DUP
define('p', (m) => m.memoize(Number(m.integer(m.line())))); // PUT
define('q', (m) => m.memoize(m.uint8())); // BINPUT
define('r', (m) => m.memoize(m.uint32())); // LONG_BINPUT
define(0x94, (m) => m.memoize()); // MEMOIZE
define('g', (m) => m.recall(Number(m.integer(m.line())))); // GET
define('h', (m) => m.recall(m.uint8())); // BINGET
define('j', (m) => m.recall(m.uint32())); // LONG_BINGET

// Objects
define('c', (m) => {
  const module = m.line();
  m.push(m.global(module, m.line()));
}); // GLOBAL
define(0x93, (m) => m.stackGlobal()); // STACK_GLOBAL
define('R', (m) => m.reduce()); // REDUCE
define('b', (m) => m.build()); // BUILD
define(0x81, (m) => {
  m.pop();
  m.instantiate(m.pop());
}); // NEWOBJ
define(0x92, (m) => {
  m.pop();
  m.pop();
  m.instantiate(m.pop());
}); // NEWOBJ_EX
define('i', (m) => {
  const module = m.line();
  const callee = m.global(module, m.line());
  m.popMark();
  m.instantiate(callee);
}); // INST
define('o', (m) => {
  const [callee] = m.popMark();
  m.instantiate(callee ?? null);
}); // OBJ
define('P', (m) => m.persistentLoad(m.line())); // PERSID
define('Q', (m) => m.persistentLoad(m.pop())); // BINPERSID
