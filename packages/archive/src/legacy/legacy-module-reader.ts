import { ClassType, CressetError, Source, TensorType } from '@cresset/ir';
import { declareFunctions, Parser, SimpleSelf } from '@cresset/frontend';
import { elementSize, type IValue, ScriptObject, type Tensor, Tuple } from '@cresset/tensor';
import { DebugRanges } from '../debug/debug-ranges.ts';
import { DebugTables } from '../debug/debug-tables.ts';
import { type ModuleDef, parseModelDef, type TensorDef } from './legacy-model-def.ts';
import { readExtraFiles } from '../extra-files.ts';
import type { LegacyArchive, LoadedModule } from '../loaded-module.ts';
import { ObjectPickle, type PendingState } from '../pickle/object-pickle.ts';
import { PickleGlobals } from '../pickle/pickle-globals.ts';
import { PickleGlobal, type PickleValue } from '../pickle/pickle-value.ts';
import { SourceImporter } from '../source-importer.ts';
import { StorageRecords } from '../storage-records.ts';
import { TypeRestoration } from '../type-restoration.ts';
import { WeightReader } from '../weight-reader.ts';

/** Files of this version of the description or a later one have the present layout. */
const FIRST_PRESENT_VERSION = 6;
/** Values of attributes are pickled from this version on. */
const FIRST_PICKLED_VERSION = 2;

/**
 * Reads the layout of PyTorch 1.0 to 1.3: `model.json`, `tensors/`, `attributes.pkl`, a file of code for each module, and in `libs/` the
 * classes that are no modules (PyTorch: LEGACY_deserialize). `readModule` hands such archives to it.
 *
 * Throws `LEGACY_MODEL` for a description that does not fit the file, and what reading the present layout throws.
 */
export async function readLegacyModule(archive: LegacyArchive): Promise<LoadedModule> {
  return new LegacyModuleReader(archive).read();
}

class LegacyModuleReader {
  readonly #archive: LegacyArchive;
  readonly #code = new Map<string, Source>();
  readonly #tensors: Tensor[] = [];
  readonly #pendingStates: PendingState[] = [];
  readonly #importer: SourceImporter;
  #pickled: readonly IValue[] = [];

  constructor(archive: LegacyArchive) {
    this.#archive = archive;
    this.#importer = new SourceImporter({
      sourceOf: (file) => this.#code.get(`libs/${file}`),
      constants: this.#tensors,
      formatVersion: archive.formatVersion,
    });
  }

  async read(): Promise<LoadedModule> {
    const { zip, root, formatVersion } = this.#archive;
    const model = parseModelDef(new TextDecoder().decode(await zip.read(`${root}model.json`)));
    if (model.protoVersion >= FIRST_PRESENT_VERSION) throw wrong(`it is of version ${model.protoVersion}`);
    await this.#readCode(model.mainModule);
    await this.#readTensors(model.tensors);
    if (model.protoVersion >= FIRST_PICKLED_VERSION && zip.has(`${root}attributes.pkl`)) {
      await this.#readAttributes();
    }
    return {
      module: this.#convertModule(model.mainModule, '__torch__'),
      unit: this.#importer.unit,
      constants: [],
      pendingStates: this.#pendingStates,
      formatVersion,
      code: this.#code,
      extraFiles: await readExtraFiles(zip, root),
      debugTables: new DebugTables(zip),
      weights: null,
    };
  }

  // ---- records

  /** All code of modules, and what is in `libs/`: with it the tables of source ranges, which are small in such files. */
  async #readCode(module: ModuleDef): Promise<void> {
    const { zip, root } = this.#archive;
    const debugKeys = new Map<string, string | undefined>();
    const waiting = [module];
    for (const { codeKey, debugKey, submodules } of waiting) {
      if (codeKey !== undefined) debugKeys.set(codeKey, debugKey);
      waiting.push(...submodules);
    }
    for (const name of zip.entries.keys()) {
      const file = name.slice(root.length);
      if (file.startsWith('libs/') && file.endsWith('.py')) debugKeys.set(file, `${file}.debug_pkl`);
    }
    for (const [key, debugKey] of debugKeys) {
      const table = debugKey !== undefined && zip.has(root + debugKey) ? await zip.read(root + debugKey) : undefined;
      const ranges = table && new DebugRanges(table.slice(), debugKey!);
      this.#code.set(key, new Source(new TextDecoder().decode(await zip.read(root + key)), key, 0, ranges));
    }
  }

  async #readTensors(definitions: readonly TensorDef[]): Promise<void> {
    const { zip, root } = this.#archive;
    const records = new StorageRecords(zip, root, false);
    // What pickles say of a tensor, and where it may lie, is said here in JSON.
    const globals = new PickleGlobals({ storage: records.reference.bind(records) }, 'model.json');
    const rebuild = globals.findGlobal('torch._utils', '_rebuild_tensor_v2')!;
    for (const { key, dtype, offset, dims, strides, requiresGrad, quantizer } of definitions) {
      const size = zip.entries.get(root + key)?.size ?? 0;
      const storage = records.reference(key, dtype, Math.floor(size / elementSize(dtype)));
      const args = [storage, offset, new Tuple(dims), new Tuple(strides), requiresGrad];
      const tensor = rebuild.call!(args) as Tensor;
      tensor.quantizer = quantizer;
      this.#tensors.push(tensor);
    }
    await records.load(new WeightReader(zip));
  }

  async #readAttributes(): Promise<void> {
    const { zip, root } = this.#archive;
    const name = 'attributes.pkl';
    const storage = (): never => {
      throw new CressetError('PICKLE_MALFORMED', `${name} is damaged: it has a tensor of its own`);
    };
    const pickle = new ObjectPickle(name, this.#importer, { storage, tensorTable: this.#tensors }, LegacyPickleGlobals);
    this.#pickled = pickle.readItems(await zip.read(root + name));
    this.#pendingStates.push(...pickle.pendingStates);
  }

  // ---- modules

  #convertModule(definition: ModuleDef, prefix: string): ScriptObject {
    // A name may be several, and may be a number, which no class can be called.
    const atoms = definition.name.split('.').map((atom) => (/^\d*$/.test(atom) ? `_${atom}` : atom));
    const name = [prefix, ...atoms].join('.');
    const { unit } = this.#importer;
    const uniqueName = unit.getType(name) ? unit.mangle(name) : name;
    const type = new ClassType(uniqueName, { isModule: true, compilationUnit: unit });
    unit.registerType(type);
    const module = new ScriptObject(type);
    for (const each of definition.submodules) {
      const submodule = this.#convertModule(each, name);
      type.addAttribute(each.name, submodule.type);
      module.slots.push(submodule);
    }
    for (const { name: parameter, tensorId, isBuffer } of definition.parameters) {
      type.addAttribute(parameter, TensorType.get(), isBuffer ? 'buffer' : 'parameter');
      module.slots.push(elementAt(this.#tensors, tensorId, `parameter '${parameter}'`));
    }
    this.#addAttributes(module, definition);
    this.#declareMethods(type, definition.codeKey);
    if (definition.stateId === undefined) this.#checkAttributes(module);
    else this.#addState(module, definition.stateId);
    return module;
  }

  #addAttributes({ type, slots }: ScriptObject, { attributes }: ModuleDef): void {
    for (const { name, type: text, id } of attributes) {
      // `training` may be among the buffers already.
      if (type.hasAttribute(name)) continue;
      const attributeType = this.#importer.parseType(text);
      type.addAttribute(name, attributeType);
      // What has no value gets one from `__setstate__`.
      const value = id < 0 ? null : elementAt(this.#pickled, id, `attribute '${name}'`);
      if (id >= 0) new TypeRestoration().value(value, attributeType, `attribute '${name}'`);
      slots.push(value);
    }
  }

  #declareMethods(type: ClassType, codeKey: string | undefined): void {
    if (codeKey === undefined) return;
    const { unit } = this.#importer;
    const definitions = new Parser(this.#code.get(codeKey)!, 'serialized').parseDefinitions(true);
    declareFunctions(unit, definitions, {
      prefix: type.qualifiedName,
      resolver: this.#importer,
      self: new SimpleSelf(type),
      // No version: PyTorch gives the methods of such files today's operators, and only what is in `libs/` those of its time.
    });
  }

  #addState(object: ScriptObject, stateId: number): void {
    const state = elementAt(this.#pickled, stateId, `the state of '${object.type.qualifiedName}'`);
    const parameter = object.type.findMethod('__setstate__')?.schema.arguments[1];
    if (!parameter) throw wrong("Cannot call '__setstate__' method because it does not exist");
    new TypeRestoration().value(state, parameter.type, `the state of class '${object.type.qualifiedName}'`);
    this.#pendingStates.push({ object, state });
  }

  #checkAttributes({ type, slots }: ScriptObject): void {
    type.attributes.forEach(({ name, type: { kind } }, slot) => {
      if (slots[slot] !== null || /^(Optional|None|Any)Type$/.test(kind)) return;
      throw wrong(
        `The field '${name}' was left unitialized after __setstate__, but expected a value of type 'NoneType'`,
      );
    });
  }
}

/** The names that the first picklers had, which Python does not know. */
class LegacyPickleGlobals extends PickleGlobals {
  override findGlobal(module: string, name: string): PickleGlobal | null {
    const builder = module === '__main__' ? LEGACY_BUILDERS.get(name) : undefined;
    if (builder === undefined) return super.findGlobal(module, name);
    const made = super.findGlobal('torch.jit._pickle', builder)!;
    // An instance is made of it and given a state: both mean a call with that.
    const call = new PickleGlobal(name, made.call, (): PickleValue => call);
    return call;
  }
}

const LEGACY_BUILDERS: ReadonlyMap<string, string> = new Map([
  ['TensorID', 'build_tensor_from_id'],
  ['IntList', 'build_intlist'],
]);

function elementAt<T>(values: readonly T[], index: number, what: string): T {
  const value = values[index];
  if (value === undefined) throw wrong(`${what} is number ${index} of ${values.length}`);
  return value;
}

function wrong(what: string): CressetError {
  return new CressetError('LEGACY_MODEL', `the file's model.json does not fit the file: ${what}`);
}
