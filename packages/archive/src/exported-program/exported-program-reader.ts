import {
  AnyType,
  Argument,
  BoolType,
  CompilationUnit,
  CressetError,
  FloatType,
  FunctionSchema,
  Graph,
  GraphFunction,
  IntType,
  TensorType,
  type Type,
  type Value,
} from '@cresset/ir';
import { toByteString, type IValue } from '@cresset/tensor';
import { readByteOrder } from '../archive-layout.ts';
import { DebugTables } from '../debug/debug-tables.ts';
import { readExtraFiles } from '../extra-files.ts';
import type { LoadedModule } from '../loaded-module.ts';
import type { ByteSource, TransferOptions } from '../sources/byte-source.ts';
import { WHOLE_FILE_BYTES } from '../sources/url-source.ts';
import { WeightReader } from '../weight-reader.ts';
import type { ZipReader } from '../zip/zip-reader.ts';
import { InputChecks, type ExpectedInput, type ExpectedSize, type SymbolRange } from './checks/input-checks.ts';
import { parseSymbolicSize } from './checks/symbolic-size.ts';
import { GraphConverter } from './conversion/graph-converter.ts';
import { malformed, nameOf, type SerializedValue } from './conversion/serialized-node.ts';
import { readArchivedProgram, type ArchivedProgram } from './exported-archive.ts';
import { readSignature, type GraphSignature, type LiftedInput, type UserInput } from './graph-signature.ts';
import { isJsonList, JsonObject } from './json-object.ts';
import { ModuleTree } from './module-tree.ts';
import { contentsOf, moduleClasses } from './program-contents.ts';
import { readPayloads, type Payloads } from './tensor-payloads.ts';
import { leafCount, parseTreeSpec, type TreeSpec } from './tree/tree-spec.ts';
import { TreeValues } from './tree/tree-values.ts';

/** Version of PyTorch's file format that the program is saved in. */
const FORMAT_VERSION = 3;

/**
 * Reads a program of `torch.export.save` (torch.export.load, and ExportedProgram.module()): a module with its parameters, buffers and
 * constants, and a method `forward`. `readModule` hands such archives to it.
 *
 * Throws a CressetError whose code begins with `EXPORT_`.
 */
export function readExportedProgram(
  zip: ZipReader,
  source: ByteSource,
  options: TransferOptions,
): Promise<LoadedModule> {
  return readProgram(zip, source, options).catch(asDamage);
}

/** What a description leads to that has not the form it should have: the file is damaged. */
function asDamage(error: unknown): never {
  if (error instanceof CressetError || !(error instanceof TypeError || error instanceof RangeError)) throw error;
  throw new CressetError('EXPORT_MALFORMED', `the program is damaged: ${error.message}`, { cause: error });
}

async function readProgram(zip: ZipReader, source: ByteSource, options: TransferOptions): Promise<LoadedModule> {
  options.onPart?.('exported-program-reader', 'a program of torch.export');
  const program = await readArchivedProgram(zip, source.name, options.program);
  const root = program.root ?? '';
  const contents = contentsOf(program.json);
  const prepared = options.beforeCompiling?.(contents);
  const isBigEndian = (await readByteOrder(zip, root)) === 'big';
  const payloads = await readPayloads(zip, program, isBigEndian);
  await prepared;
  const made = new ProgramBuilder(program, payloads).build();
  // What cannot be run is told now, where somebody wants to run it: who only looks at weights needs no operators.
  if (options.beforeCompiling) made.forward.ensureDefined();
  const weights = new WeightReader(zip);
  const isLazy = source.size > WHOLE_FILE_BYTES;
  for (const records of payloads.records) {
    if (isLazy) records.attach(weights);
    else await records.load(weights);
  }
  return {
    module: made.module,
    unit: made.unit,
    constants: [],
    pendingStates: [],
    formatVersion: FORMAT_VERSION,
    code: new Map(),
    extraFiles: await readExtraFiles(zip, root, program.root === null ? 'extra_files/' : undefined),
    debugTables: new DebugTables(zip),
    weights: isLazy ? weights : null,
  };
}

/** Makes a module of what a file tells of a program. */
class ProgramBuilder {
  readonly #program: ArchivedProgram;
  readonly #payloads: Payloads;
  readonly #graphModule: JsonObject;
  readonly #signature: GraphSignature;
  readonly #unit = new CompilationUnit();
  readonly #tree: ModuleTree;
  readonly #graph = new Graph();
  readonly #self: Value;
  readonly #trees: TreeValues;
  readonly #lifted = new Map<string, LiftedInput>();
  /** Values of modules and tensors by their names with dots. */
  readonly #attributes = new Map<string, Value>();
  readonly #converter: GraphConverter;

  constructor(program: ArchivedProgram, payloads: Payloads) {
    this.#program = program;
    this.#payloads = payloads;
    this.#graphModule = program.json.object('graph_module');
    this.#signature = readSignature(this.#graphModule.object('signature'));
    this.#tree = new ModuleTree(this.#unit, moduleClasses(this.#graphModule.object('graph')));
    this.#self = this.#graph.addInput('self').setType(this.#tree.root.type);
    this.#trees = new TreeValues(this.#graph, this.#unit);
    this.#converter = new GraphConverter(this.#graph, this.#unit, (name) => this.#liftedValue(name));
  }

  /** The module, with a method that is converted when it is first needed. */
  build(): Pick<LoadedModule, 'module' | 'unit'> & { readonly forward: GraphFunction } {
    for (const input of this.#signature.inputs) {
      if (input.kind === 'user') continue;
      if (input.kind === 'token') this.#converter.define(input.name, this.#graph.insertConstant(null));
      else this.#register(input);
    }
    const { type } = this.#tree.root;
    const forward = new GraphFunction(`${type.qualifiedName}.forward`, this.#graph, (fn) => {
      try {
        this.#define(fn);
      } catch (error) {
        asDamage(error);
      }
    });
    type.addMethod(forward);
    this.#unit.registerFunction(forward);
    return { module: this.#tree.root, unit: this.#unit, forward };
  }

  #define(fn: GraphFunction): void {
    const call = this.#readCall();
    const parameters = this.#addParameters(call);
    this.#converter.convertNodes(this.#graphModule.object('graph'));
    this.#graph.currentRange = undefined;
    const result = this.#addResult(call.output);
    const args = [new Argument('self', this.#tree.root.type), ...parameters];
    fn.setSchema(new FunctionSchema('forward', '', args, [new Argument('', result.type)]));
    fn.binder = this.#makeChecks(call);
  }

  // ---- attributes

  #register(input: LiftedInput): void {
    this.#lifted.set(input.name, input);
    const tensor = this.#payloads.tensors.get(input.path);
    if (tensor) return this.#tree.register(input.path, tensor, input.kind);
    const other = this.#payloads.others.get(input.path);
    if (other === undefined) malformed(`it has no '${input.path}'`);
    throw new CressetError(
      'EXPORT_UNSUPPORTED',
      `'${input.path}' of the program is ${other}, which is not here: make it plain tensors before the export, as torchao's unwrap_tensor_subclass() does`,
    );
  }

  /** What a lifted input is when the graph first needs it, so that weights are read in that order. */
  #liftedValue(name: string): Value | undefined {
    const input = this.#lifted.get(name);
    return input && this.#attribute(input.path);
  }

  #attribute(path: string): Value {
    if (path === '') return this.#self;
    let value = this.#attributes.get(path);
    if (!value) {
      const at = path.lastIndexOf('.');
      const owner = this.#attribute(path.slice(0, Math.max(at, 0)));
      value = this.#graph.insertGetAttr(owner, path.slice(at + 1));
      this.#attributes.set(path, value);
    }
    return value;
  }

  // ---- the call

  #readCall(): Call {
    const [entry] = this.#graphModule.objects('module_call_graph');
    const json = entry?.object('signature') ?? malformed('it does not tell how it is called');
    const namedTuples = new Map<string, readonly string[]>();
    if (this.#graphModule.get('treespec_namedtuple_fields') !== undefined) {
      for (const [type, fields] of this.#graphModule.object('treespec_namedtuple_fields').entries)
        if (fields instanceof JsonObject) namedTuples.set(type, fields.list('field_names').map(String));
    }
    const input = parseTreeSpec(json.text('in_spec'), namedTuples);
    const output = parseTreeSpec(json.text('out_spec'), namedTuples);
    const [positional, keywords] = input.kind === 'tuple' ? input.children : [];
    if (positional?.kind !== 'tuple' || keywords?.kind !== 'dict') malformed('its inputs are no arguments');
    const own = json.get('forward_arg_names');
    const count = positional.children.length + keywords.children.length;
    const names =
      isJsonList(own) && own.length === count
        ? own.map(String)
        : [...positional.children.map((_, index) => `arg_${index}`), ...keywords.keys.map(String)];
    const users = this.#signature.inputs.filter((each): each is UserInput => each.kind === 'user');
    if (users.length !== leafCount(input)) malformed('it has another number of inputs than arguments');
    return {
      names,
      positional: positional.children,
      keywords: keywords.children.map((spec, index) => [String(keywords.keys[index]), spec] as const),
      output,
      users,
    };
  }

  #addParameters({ names, positional, keywords, users }: Call): Argument[] {
    const specs = [...positional, ...keywords.map(([, spec]) => spec)];
    const keywordNames = keywords.map(([name]) => name);
    const types = users.map(({ constant, argument }) => (constant ? AnyType.get() : typeOfInput(argument)));
    let at = 0;
    return specs.map((spec, index) => {
      const own = types.slice(at, at + leafCount(spec));
      const type = this.#trees.typeOf(spec, [...own]);
      // Keywords are told by their own names, whatever the function that was exported calls them.
      const name = index < positional.length ? names[index] : keywordNames[index - positional.length];
      const input = this.#graph.addInput(name).setType(type);
      const leaves = this.#trees.unpack(spec, input, own);
      for (const leaf of leaves) {
        const user = users[at++];
        if (!user.constant) this.#converter.define(user.name, leaf);
      }
      return new Argument(name, type);
    });
  }

  #addResult(output: TreeSpec): Value {
    const graph = this.#graph;
    const results: { readonly argument: SerializedValue; readonly name: string | null }[] = [];
    /** What was copied to a target, by the name of what was. */
    const copies = new Map<string, Value>();
    for (const each of this.#signature.outputs) {
      if (each.kind === 'user') results.push({ argument: each.argument, name: nameOf(each.argument) });
      if (each.kind !== 'mutation') continue;
      const target = each.isInput ? this.#converter.valueOf(each.target) : this.#attribute(each.target);
      const blocking = graph.insertConstant(false);
      copies.set(each.name, graph.insert('aten::copy_', [target, this.#converter.valueOf(each.name), blocking]));
    }
    const leaves = results.map(({ argument, name }) => {
      const copy = name === null ? undefined : copies.get(name);
      return copy ?? this.#converter.arguments.value(argument, null);
    });
    if (leaves.length !== leafCount(output)) malformed('it has another number of outputs than results');
    const result = this.#trees.pack(output, leaves);
    graph.registerOutput(result);
    return result;
  }

  // ---- checks

  #makeChecks({ names, positional, keywords, users }: Call): InputChecks {
    const graph = this.#graphModule.object('graph');
    const [tensors, ints] = [graph.object('tensor_values'), graph.object('sym_int_values')];
    const inputs = users.map(({ name, constant, argument }): ExpectedInput => {
      if (constant) return { kind: 'constant', value: constantOf(constant) };
      if (argument.tag === 'as_sym_int') return { kind: 'int', size: readSymbol(ints.object(name)) };
      if (argument.tag !== 'as_tensor') return { kind: 'constant', value: null };
      return { kind: 'tensor', sizes: tensors.object(name).objects('sizes').map(readSize) };
    });
    const { json, hasExamples } = this.#program;
    const ranges = new Map<string, SymbolRange>();
    for (const [symbol, range] of json.object('range_constraints').entries) {
      if (range instanceof JsonObject)
        ranges.set(symbol, { min: boundOf(range, 'min_val'), max: boundOf(range, 'max_val') });
    }
    const guards = json.get('guards_code') === undefined ? [] : json.list('guards_code').map(String);
    return new InputChecks({ names, positional, keywords, inputs, ranges, guards, hasExamples });
  }
}

/** How a program is called. */
interface Call {
  readonly names: readonly string[];
  readonly positional: readonly TreeSpec[];
  readonly keywords: readonly (readonly [name: string, spec: TreeSpec])[];
  readonly output: TreeSpec;
  readonly users: readonly UserInput[];
}

function typeOfInput({ tag }: SerializedValue): Type {
  switch (tag) {
    case 'as_tensor':
      return TensorType.get();
    case 'as_sym_int':
      return IntType.get();
    case 'as_sym_float':
      return FloatType.get();
    case 'as_sym_bool':
      return BoolType.get();
    default:
      return malformed(`an argument is of the kind '${tag}'`);
  }
}

function constantOf({ tag, value }: SerializedValue): IValue {
  if (tag === 'as_none') return null;
  if (tag === 'as_string') return toByteString(String(value));
  if (tag !== 'as_float') return value as bigint | boolean;
  return typeof value === 'string' ? Number(value) : Number(value as bigint | number);
}

function readSize(size: JsonObject): ExpectedSize {
  const [tag, value] = size.variant();
  if (tag === 'as_int' && typeof value === 'bigint') return value;
  return readSymbol(size);
}

function readSymbol(json: JsonObject): Extract<ExpectedInput, { kind: 'int' }>['size'] {
  return parseSymbolicSize(json.object('as_expr').text('expr_str'));
}

function boundOf(range: JsonObject, key: string): bigint | null {
  const bound = range.get(key);
  return typeof bound === 'bigint' ? bound : null;
}
