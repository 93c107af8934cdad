import { Complex, type GraphFunction, type SourceRange } from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, List, Tensor, Tuple } from '@cresset/tensor';
import { makeTypeParser } from '../define.ts';
import { OutsideFunction, OutsideFunctionValue } from '../given/outside-function.ts';
import { scriptedValue } from '../given/scripted-entities.ts';
import {
  MethodWrapper,
  NativeFunction,
  PythonClass,
  PythonFunction,
  PythonObject,
  QualifiedName,
} from '../python/interpreter/entities.ts';
import { GlobalValue } from '../python/python-constants.ts';
import { ModuleClassValue, PythonModule, resolvePythonName } from '../python/python-modules.ts';
import { PythonEntity, TorchCode, type PythonValue } from '../python/python-value.ts';
import { typeAsValue } from '../unit-resolver.ts';
import { ExceptionValue, FunctionValue } from '../values/callable-value.ts';
import { BuiltinFunction, SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { ScriptProgram } from './script-program.ts';
import { IgnoredFunctionValue, isIgnored, withoutVariadics } from './unused-definition.ts';

/** What a value of Python's means in a function that is compiled (PyTorch: toSugaredValue); undefined where it means nothing. */
export function toSugared(
  program: ScriptProgram,
  value: PythonValue,
  fn: GraphFunction,
  range: SourceRange,
): SugaredValue | undefined {
  if (value === null) return undefined;
  if (value instanceof EnumValue) return new SimpleValue(fn.graphBeingDefined.insertConstant(value, range));
  if (value instanceof PythonFunction) return functionAsValue(program, value);
  if (value instanceof MethodWrapper) return toSugared(program, value.fn, fn, range);
  if (value instanceof NativeFunction)
    return value.path === undefined ? undefined : namedValue(program, value.path, fn, range);
  if (value instanceof QualifiedName) return namedValue(program, value.path, fn, range);
  if (value instanceof PythonClass) return classAsValue(program, value);
  if (value instanceof OutsideFunction) return new OutsideFunctionValue(value);
  const scripted = value instanceof PythonEntity ? scriptedValue(value, range) : undefined;
  if (scripted !== undefined) return scripted;
  return value instanceof PythonObject || isData(value) ? new GlobalValue(value) : undefined;
}

function isData(value: PythonValue): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return [Complex, List, Tuple, Dict, DeviceValue, Tensor, TorchCode].some((type) => value instanceof type);
}

/** Of something that the compiler knows by a name of PyTorch's or Python's. */
function namedValue(
  program: ScriptProgram,
  path: string,
  fn: GraphFunction,
  range: SourceRange,
): SugaredValue | undefined {
  const [root, ...fields] = path.split('.');
  if (/^typing(_extensions)?$/.test(root!) && fields.length === 1) return resolvePythonName(fields[0]!);
  const start = ['torch', 'math', 'cmath', 'collections'].includes(root!)
    ? new ModuleWithTexts(program, root!)
    : resolvePythonName(root!);
  return start && fields.reduce<SugaredValue>((found, field) => found.attr(range, fn, field), start);
}

/** A module of PyTorch's or Python's; of `torch.nn.utils`, members are compiled from its texts. */
class ModuleWithTexts extends PythonModule {
  readonly #program: ScriptProgram;
  readonly #path: string;

  constructor(program: ScriptProgram, path: string) {
    super(path);
    this.#program = program;
    this.#path = path;
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    const path = `${this.#path}.${field}`;
    if (!/^torch\.nn($|\.utils|\.[A-Z])/.test(path)) return super.attr(range, fn, field);
    const value = this.#program.python.torch.attribute(this.#path, field);
    if (value instanceof QualifiedName) return new ModuleWithTexts(this.#program, path);
    const sugared = value === undefined ? undefined : toSugared(this.#program, value, fn, range);
    return sugared ?? super.attr(range, fn, field);
  }
}

/** A function of Python's, compiled where it is called; what is left to Python fails there. */
function functionAsValue(program: ScriptProgram, fn: PythonFunction): SugaredValue {
  const { def } = fn;
  if (def === undefined) return new GlobalValue(fn);
  // What makes tuples of sizes for Python is an operator to the compiler.
  if (fn.scope.module === 'torch.nn.modules.utils') return new BuiltinFunction(`aten::${fn.name}`);
  if (isIgnored(def)) {
    return new IgnoredFunctionValue(
      makeTypeParser(program.resolverFor(fn.scope)).parseSchemaFromDef(withoutVariadics(def), false),
    );
  }
  return new FunctionValue(...program.compiledFunctions(fn));
}

function classAsValue(program: ScriptProgram, type: PythonClass): SugaredValue | undefined {
  if (program.isException(type)) {
    return new ExceptionValue(type.definition === undefined ? `builtins.${type.name}` : program.pythonName(type.name));
  }
  const { name } = type;
  if (program.python.isModuleClass(type)) {
    const isCompiled = program.unit.getType(`__torch__.${type.definition?.scope.module}.${name}`) !== undefined;
    return new ModuleClassValue(name, isCompiled);
  }
  const compiled = program.typeOf(type);
  if (compiled !== undefined) return typeAsValue(compiled);
  return name === 'Tensor' ? new BuiltinFunction('aten::Tensor') : resolvePythonName(name);
}
