import { ErrorReport, Source, SourceRange, type NodeEvaluator } from '@cresset/ir';
import { DeviceValue, Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { compileBody } from '../../define.ts';
import {
  makeApply,
  makeIdent,
  makeTuple,
  makeVar,
  type Attribute,
  type BinaryOperator,
  type Expr,
  type Stmt,
  type UnaryOperator,
} from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import { resolvePythonName } from '../python-modules.ts';
import { inferType, TorchCode, type PythonValue } from '../python-value.ts';
import { SimpleValue } from '../../values/simple-value.ts';
import { itemsIn, listOf, tupleOf } from './containers.ts';
import { NativeFunction, PythonEllipsis, PythonIterator, PythonSet, PythonSlice, type Keywords } from './entities.ts';
import { evaluateGraph } from './graph-evaluation.ts';
import type { Interpreter } from './interpreter.ts';
import { isParameter, isUninitialized, makeParameter, materialize, setData } from './module-objects.ts';

const NOWHERE = new SourceRange(new Source('', '<python>'), 0, 0);

/** Methods that give Python's values, or that have no operator. */
const METHODS: Readonly<Record<string, (self: Tensor, tensors: TensorOperations) => PythonValue>> = {
  item: (self, tensors) => tensors.item(self),
  tolist: (self, tensors) => tensors.toList(self),
  numpy: (self) => self,
  dim: (self) => BigInt(self.dim),
  ndimension: (self) => BigInt(self.dim),
  numel: (self) => BigInt(self.numel),
  nelement: (self) => BigInt(self.numel),
  cuda: (self) => self,
  share_memory_: (self) => self,
  pin_memory: (self) => self,
  is_floating_point: (self) => /float|double|half/.test(self.dtype),
  is_complex: (self) => /complex/.test(self.dtype),
  __len__: (self) => BigInt(self.sizes[0] ?? 0),
};

/** What a tensor has before it has sizes. */
const HELD: ReadonlySet<string> = new Set(
  'dtype device requires_grad requires_grad_ is_leaf grad __class__ is_floating_point to'.split(' '),
);

const NO_SHAPE =
  "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to load an uninitialized " +
  'parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes.';

const noElements = (name: string): string =>
  `Attempted to use an uninitialized parameter in <method '${name}' of 'torch._C.TensorBase' objects>. This error happens when you are using a \`LazyModule\` ` +
  'or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a dummy batch to initialize the ' +
  'parameters before calling torch functions';

/** PyTorch's operators on tensors of the host, called as TorchScript calls them: what is compiled and run is one expression. */
export class TensorOperations {
  readonly #python: Interpreter;
  readonly #evaluate: NodeEvaluator;

  constructor(python: Interpreter, evaluate: NodeEvaluator) {
    this.#python = python;
    this.#evaluate = evaluate;
  }

  /** Calls a function of PyTorch's by its full name. */
  callNamed(path: string, args: readonly PythonValue[], kwargs: Keywords): PythonValue {
    return this.#withFloats(args, kwargs, (given, named) =>
      this.#run((operands) => operands.call(pathExpr(path), given, named)),
    );
  }

  /** Python's ints are floats to an operator that wants those, which the compiler does not make of them. */
  #withFloats(
    args: readonly PythonValue[],
    kwargs: Keywords,
    call: (args: readonly PythonValue[], kwargs: Keywords) => PythonValue,
  ): PythonValue {
    try {
      return call(args, kwargs);
    } catch (error) {
      if (!(error instanceof ErrorReport)) throw error;
      for (const [given, named] of floatForms(args, kwargs)) {
        try {
          return call(given, named);
        } catch (other) {
          if (!(other instanceof ErrorReport)) throw other;
        }
      }
      throw error;
    }
  }

  /** The value of a constant of PyTorch's by its full name, such as a dtype. */
  constant(path: string): PythonValue {
    return this.#run(() => pathExpr(path));
  }

  binary(op: BinaryOperator, left: PythonValue, right: PythonValue): PythonValue {
    return this.#run((operands) => ({
      kind: 'binary',
      range: NOWHERE,
      op,
      lhs: operands.expr(left),
      rhs: operands.expr(right),
    }));
  }

  unary(op: UnaryOperator, value: Tensor): PythonValue {
    return this.#run((operands) => ({ kind: 'unary', range: NOWHERE, op, operand: operands.expr(value) }));
  }

  /** `left op= right`, which changes the tensor. */
  inPlace(op: BinaryOperator, left: Tensor, right: PythonValue): PythonValue {
    const method = { '+': 'add_', '-': 'sub_', '*': 'mul_', '/': 'div_' }[op as string];
    return method === undefined ? this.binary(op, left, right) : this.#method(left, method, [right], new Map());
  }

  getItem(self: Tensor, key: PythonValue): PythonValue {
    return this.#run((operands) => operands.subscript(self, key));
  }

  setItem(self: Tensor, key: PythonValue, value: PythonValue): void {
    this.#run(
      () => ({ kind: 'none', range: NOWHERE }),
      (operands) => [
        {
          kind: 'assign',
          range: NOWHERE,
          lhsList: [operands.subscript(self, key)],
          rhs: operands.expr(value),
          type: undefined,
        },
      ],
    );
  }

  /** The tensors that iteration goes over. */
  rows(self: Tensor): readonly PythonValue[] {
    if (self.dim === 0) throw new PythonError('iteration over a 0-d tensor');
    return itemsIn(this.#method(self, 'unbind', [], new Map()) as List);
  }

  /** The only element, as a number. */
  item(self: Tensor): PythonValue {
    if (self.numel !== 1) {
      throw new PythonError(`a Tensor with ${self.numel} elements cannot be converted to Scalar`, 'RuntimeError');
    }
    const element = self.contiguousArray()[0]!;
    if (self.dtype === 'bool') return Number(element) !== 0;
    return /^u?int/.test(self.dtype) ? BigInt(element) : Number(element);
  }

  toList(self: Tensor): PythonValue {
    return self.dim === 0 ? this.item(self) : listOf(this.rows(self).map((row) => this.toList(row as Tensor)));
  }

  attribute(self: Tensor, name: string): PythonValue | undefined {
    if (isUninitialized(self) && !HELD.has(name)) return this.#missing(self, name);
    switch (name) {
      case 'shape':
        return tupleOf(self.sizes.map(BigInt));
      case 'ndim':
        return BigInt(self.dim);
      case 'requires_grad':
        return self.requiresGrad;
      case 'is_leaf':
        return true;
      case 'grad':
        return null;
      case 'data':
        return this.#method(self, 'detach', [], new Map());
      case 'dtype':
        return new TorchCode('dtype', this.#attributeOf(self, name) as bigint);
      case '__class__':
        return this.#python.typeOf(self);
      case 'device':
      case 'T':
      case 'mT':
      case 'mH':
      case 'H':
      case 'real':
      case 'imag':
      case 'is_cuda':
        return this.#attributeOf(self, name);
      case 'size':
        return new NativeFunction(name, (args, kwargs) => {
          const size = this.#method(self, name, args, kwargs);
          return size instanceof List ? tupleOf(itemsIn(size)) : size;
        });
      case 'requires_grad_':
        return new NativeFunction(name, ([on = true]) => {
          self.requiresGrad = on === true;
          return self;
        });
    }
    if (Object.hasOwn(METHODS, name)) return new NativeFunction(name, () => METHODS[name]!(self, this));
    if (/^__|^_[a-z]/.test(name)) return undefined;
    return new NativeFunction(name, (args, kwargs) => this.#method(self, name, args, kwargs));
  }

  /** Of a tensor that has no sizes yet. */
  #missing(self: Tensor, name: string): PythonValue {
    if (name === 'shape') throw new PythonError(NO_SHAPE, 'RuntimeError');
    return new NativeFunction(name, ([sizes, ...rest]) => {
      if (name !== 'materialize') throw new PythonError(noElements(name), 'ValueError');
      const shape = typeof sizes === 'bigint' ? listOf([sizes, ...rest]) : sizes!;
      const dtype = this.#attributeOf(self, 'dtype');
      materialize(self, this.callNamed('torch.empty', [shape], new Map([['dtype', dtype]])) as Tensor);
      return null;
    });
  }

  setAttribute(self: Tensor, name: string, value: PythonValue): void {
    if (name === 'data' && value instanceof Tensor) {
      setData(self, value);
    } else if (name === 'requires_grad') {
      self.requiresGrad = value === true;
    }
    // Whatever else people note on tensors, no program sees.
  }

  #attributeOf(self: Tensor, name: string): PythonValue {
    return this.#run((operands) => selectOf(operands.expr(self), name));
  }

  #method(self: Tensor, name: string, args: readonly PythonValue[], kwargs: Keywords): PythonValue {
    const result = this.#withFloats(args, kwargs, (given, named) =>
      this.#run((operands) => operands.call(selectOf(operands.expr(self), name), given, named)),
    );
    // In place: the same object, as Python has it.
    if (name.endsWith('_') && result instanceof Tensor && !name.endsWith('__')) return self;
    return isParameter(self) && ['to', 'float', 'double', 'half', 'clone'].includes(name) && result === self
      ? makeParameter(self, self.requiresGrad)
      : result;
  }

  #run(result: (operands: Operands) => Expr, before?: (operands: Operands) => readonly Stmt[]): PythonValue {
    const operands = new Operands(this.#python);
    const statements = before?.(operands) ?? [];
    const expr = result(operands);
    const graph = compileBody([...statements, { kind: 'return', range: NOWHERE, expr }], {
      resolveValue: (name, fn) => {
        const operand = operands.values.get(name);
        if (operand === undefined) return name === 'torch' ? resolvePythonName(name) : undefined;
        const input = fn.graphBeingDefined.addInput(name).setType(inferType(operand));
        return new SimpleValue(input);
      },
      resolveType: () => undefined,
    });
    const inputs = graph.inputs.map((input) => operands.values.get(input.debugName.replace(/\.\d+$/, ''))!);
    const [value] = evaluateGraph(graph, inputs, this.#evaluate);
    return value!;
  }
}

/** Arguments with one of the ints as a float, and with all of them as floats. */
function floatForms(args: readonly PythonValue[], kwargs: Keywords): readonly (readonly [PythonValue[], Keywords])[] {
  const places = [...args.keys(), ...kwargs.keys()].filter(
    (place) => typeof (typeof place === 'number' ? args[place] : kwargs.get(place)) === 'bigint',
  );
  const form = (changed: readonly (number | string)[]): readonly [PythonValue[], Keywords] => [
    args.map((arg, at) => (changed.includes(at) ? Number(arg) : arg)),
    new Map([...kwargs].map(([name, arg]) => [name, changed.includes(name) ? Number(arg) : arg])),
  ];
  return places.length === 0 ? [] : [...places.map((place) => form([place])), form(places)];
}

/** The operands of an expression: what can be written is, tensors are inputs. */
class Operands {
  readonly #python: Interpreter;
  readonly values = new Map<string, IValue>();
  readonly #names = new Map<PythonValue, string>();

  constructor(python: Interpreter) {
    this.#python = python;
  }

  expr(value: PythonValue): Expr {
    const range = NOWHERE;
    if (value === null) return { kind: 'none', range };
    switch (typeof value) {
      case 'boolean':
        return { kind: 'bool', range, value };
      case 'bigint':
        return { kind: 'const', range, value };
      case 'string':
        return { kind: 'string', range, text: value };
      case 'number':
        return Number.isFinite(value) ? { kind: 'const', range, value } : this.#operand(value);
    }
    if (value instanceof TorchCode) return { kind: 'const', range, value: value.code };
    if (value instanceof Tensor || value instanceof DeviceValue) return this.#operand(value);
    if (value instanceof List) return { kind: 'list', range, inputs: itemsIn(value).map((item) => this.expr(item)) };
    if (value instanceof Tuple)
      return makeTuple(
        range,
        itemsIn(value).map((item) => this.expr(item)),
      );
    if (value instanceof PythonIterator || value instanceof PythonSet) {
      return { kind: 'list', range, inputs: [...this.#python.iterate(value)].map((item) => this.expr(item)) };
    }
    if (value instanceof PythonEllipsis) return { kind: 'dots', range };
    if (value instanceof PythonSlice) {
      const bound = (each: PythonValue): Expr | undefined => (each === null ? undefined : this.expr(each));
      return { kind: 'slice', range, start: bound(value.start), end: bound(value.stop), step: bound(value.step) };
    }
    if (value instanceof Dict) return this.#operand(value);
    throw new PythonError(`an operator takes no ${this.#python.nameOfType(value)}`);
  }

  #operand(value: PythonValue): Expr {
    let name = this.#names.get(value);
    if (name === undefined) {
      name = `operand${this.values.size}`;
      this.#names.set(value, name);
      this.values.set(name, value as IValue);
    }
    return makeVar(NOWHERE, name);
  }

  call(callee: Expr, args: readonly PythonValue[], kwargs: Keywords): Expr {
    const attributes = [...kwargs].map(([name, value]): Attribute => ({
      range: NOWHERE,
      name: makeIdent(NOWHERE, name),
      value: this.expr(value),
    }));
    return makeApply(
      NOWHERE,
      callee,
      args.map((arg) => this.expr(arg)),
      attributes,
    );
  }

  subscript(self: Tensor, key: PythonValue): Expr {
    const keys = key instanceof Tuple ? itemsIn(key) : [key];
    return {
      kind: 'subscript',
      range: NOWHERE,
      value: this.expr(self),
      subscripts: keys.map((each) => this.expr(each)),
      subscriptsRange: NOWHERE,
    };
  }
}

function selectOf(value: Expr, name: string): Expr {
  return { kind: 'select', range: NOWHERE, value, selector: makeIdent(NOWHERE, name) };
}

function pathExpr(path: string): Expr {
  const [root, ...rest] = path.split('.');
  return rest.reduce(selectOf, makeVar(NOWHERE, root!));
}
