import {
  cast,
  exprTypeOf,
  neutralElement,
  ValueHomes,
  type AxisExpr,
  type Binding,
  type DeviceCapabilities,
  type Expr,
  type KernelSignature,
  type Operand,
  type ParamExpr,
  type Recurrence,
  type ReduceExpr,
  type ReduceFunction,
  type Store,
} from '@cresset/tensorexpr';
import { elementForm, type ElementForm } from './element-form.ts';
import { fetchRareFunctions, libraryFunctionsIn } from './functions/function-library.ts';
import { betterCode, binaryCode, castCode, combineCode, unaryCode } from './functions/scalar-functions.ts';
import type { Scope } from './scope.ts';
import type { subgroupFunction } from './functions/subgroup-functions.ts';
import { UniformLayout } from './uniform-layout.ts';
import { fromStored, literal, packed, toStored, unpacked, wgslTypes } from './wgsl-type.ts';

export interface ShaderText {
  readonly code: string;
  readonly uniforms: UniformLayout;
  /** Fetches what it is not whole without: it is written again then. Null where nothing is missing. */
  readonly missing: (() => Promise<void>) | null;
}

/** What shaders may be written with, beside what every GPU has. */
export type ShaderFeatures = Pick<DeviceCapabilities, 'f16'>;

/** The code of one kernel: what it takes of the GPU's numbers, as parameters of an entry point, and what it does. */
export interface KernelCode {
  readonly builtins: readonly string[];
  /** Threads, in one or two dimensions. */
  readonly workgroupSize: number | string;
  readonly body: Scope;
}

/** How threads of a workgroup work on a reduction together; null where each thread is by itself. */
export interface Cooperation {
  readonly workgroupSize: number;
  /** The block all threads of the workgroup run through in step. */
  readonly scope: Scope;
  /** Elements that a thread has at most of what all go through; 0: any number. */
  readonly steps: number;
  /** Writes functions in which threads of a subgroup reduce among themselves first; null where they do not. */
  readonly subgroupFunction: typeof subgroupFunction | null;
  /** What later loops find in an array, and the name of that; told by `writeRowNest`. */
  readonly kept: readonly { readonly value: Expr; readonly name: string }[];
}

/**
 * Writes expressions as WGSL. A value goes to the outermost block in which everything it depends on is known, so what does
 * not change in a loop is worked out before it; a node that is used twice, or that leaves its loop, gets a name.
 */
export class ShaderWriter {
  readonly uniforms: UniformLayout;
  readonly #signature: KernelSignature;
  readonly #homes = new ValueHomes();
  readonly #taken = new Map<string, number>();
  readonly #workgroupFunctions = new Map<string, string>();
  /** Kernels that the entry point calls. */
  readonly #functions: string[] = [];
  readonly #sharedLengths = new Map<string, number>();
  /** Arrays of what loops keep for later ones, as far as they have run. */
  readonly #filled = new Set<string>();
  /** Buffers whose elements are bound as vectors of four. */
  readonly #vectors = new Set<string>();
  /** Buffers of which threads exchange words. */
  readonly #atomic = new Set<string>();
  /** How the elements of each binding lie, as far as it was asked for. */
  readonly #forms: ElementForm[] = [];
  readonly #features: ShaderFeatures;
  cooperation: Cooperation | null = null;

  constructor(signature: KernelSignature, features: ShaderFeatures = { f16: false }) {
    this.#signature = signature;
    this.#features = features;
    this.uniforms = new UniformLayout(signature.params.map((param) => param.type));
  }

  /** Tells the writer of everything it will be asked to write, so that it knows what is used more than once. */
  announce(roots: readonly Expr[]): void {
    this.#homes.announce(roots);
  }

  /** Tells the writer, before anything else, of what changes from step to step of a recurrence. */
  changeOverTime(kernel: Recurrence): void {
    this.#homes.changeOverTime(kernel);
  }

  /** Declares an array in workgroup memory; kernels of one shader share those of a name. */
  shared(name: string, elements: number, type = 'f32'): void {
    const length = Math.max(elements, this.#sharedLengths.get(name) ?? 0);
    this.#sharedLengths.set(name, length);
    this.#workgroupFunctions.set(name, `var<workgroup> ${name}: array<${type}, ${length}>;`);
  }

  /** Has a buffer of floats bound as vectors of four, unless something is stored to it or it is bound in windows. */
  bindAsVectors(operand: Operand): void {
    const { stored, windows } = this.#bindingOf(operand);
    if (!stored && !windows) this.#vectors.add(this.bufferName(operand));
  }

  /** Has a buffer's words exchanged by threads, as far as a store to it is not made by whole words. Told before anything is written. */
  bindStored({ operand, combine }: Store, isWhole: boolean): void {
    if (combine || (this.#formOf(operand).isShared && !isWhole)) this.#atomic.add(this.bufferName(operand));
  }

  /** The text of four elements at once, of which the first is that at an offset; null where the buffer is not bound as vectors. */
  vectorAt(operand: Operand, offset: Expr, scope: Scope): string | null {
    const buffer = this.bufferName(operand);
    if (!this.#vectors.has(buffer)) return null;
    return this.#formOf(operand).four32(buffer, this.value(offset, scope));
  }

  /** Gives an accumulator the value it has for each point of `axes`. */
  bindAccumulator(expr: Expr, name: string, axes: readonly AxisExpr[], scope: Scope): void {
    this.#homes.freeAxes.declare(expr, axes);
    scope.names.set(expr, name);
  }

  /** A name nobody has yet. */
  fresh(stem: string): string {
    const count = this.#taken.get(stem) ?? 0;
    this.#taken.set(stem, count + 1);
    return `${stem}${count}`;
  }

  /** A name for an axis, after its own. */
  axisName(axis: AxisExpr): string {
    const stem = axis.name.replaceAll(/[^a-z]/g, '') || 'axis';
    return this.fresh(stem);
  }

  /** `expr` as WGSL text that can stand in `scope`. */
  value(expr: Expr, scope: Scope): string {
    switch (expr.kind) {
      case 'const':
        return literal(expr.type, expr.value);
      case 'param':
        return this.#param(expr, scope);
      case 'axis':
      case 'accumulator': {
        const name = scope.nameOf(expr);
        if (name === undefined) throw new TypeError(`${expr.kind} is used where it has no value`);
        return name;
      }
    }
    const known = scope.nameOf(expr);
    if (known !== undefined) return known;
    const home = this.#homes.homeOf(expr, scope);
    const text = this.#compute(expr, home);
    if (home === scope && !this.#homes.isShared(expr)) return text;
    return this.#name(expr, text, home);
  }

  /** A param, which inner blocks find under a name: a software adapter loads anew, and compares with the buffer's end, in every step of a loop. */
  #param(expr: ParamExpr, scope: Scope): string {
    const known = scope.nameOf(expr);
    if (known !== undefined) return known;
    const member = `params.p${this.#signature.params.indexOf(expr)}`;
    const text = expr.type === 'bool' ? `(${member} != 0u)` : member;
    return scope.parent ? this.#name(expr, text, scope.outermost) : text;
  }

  /** As `value`, but as a name even where it is used once. */
  named(expr: Expr, scope: Scope): string {
    const text = this.value(expr, scope);
    if (/^[a-z_]\w*$/i.test(text)) return text;
    return this.#name(expr, text, this.#homes.homeOf(expr, scope));
  }

  /** Has a value worked out in `scope`, before all that comes there. */
  settle(expr: Expr, scope: Scope): void {
    if (!scope.names.has(expr)) scope.names.set(expr, this.value(expr, scope));
  }

  #name(expr: Expr, text: string, scope: Scope): string {
    // A reduction has a name of its own already.
    const name = /^[a-z]\w*$/.test(text) && expr.kind === 'reduce' ? text : this.fresh('v');
    if (name !== text) scope.line(`let ${name} = ${text};`);
    scope.names.set(expr, name);
    return name;
  }

  #compute(expr: Expr, scope: Scope): string {
    switch (expr.kind) {
      case 'load':
        return fromStored(expr.operand.dtype, this.#elementAt(expr.operand, expr.offset, scope));
      case 'unary':
        return unaryCode(expr.fn, expr.x.type, this.value(expr.x, scope));
      case 'binary':
        return binaryCode(expr.fn, expr.x.type, this.value(expr.x, scope), this.value(expr.y, scope));
      case 'select': {
        const condition = this.value(expr.condition, scope);
        const chosen = this.value(expr.x, scope);
        return `select(${this.value(expr.y, scope)}, ${chosen}, ${condition})`;
      }
      case 'cast':
        return castCode(expr.x.type, expr.type, this.value(expr.x, scope));
      case 'reduce':
        return this.#reduce(expr, scope);
      default:
        throw new TypeError(`${expr.kind} has no text of its own`);
    }
  }

  #elementAt(operand: Operand, offset: Expr, scope: Scope): string {
    const buffer = this.bufferName(operand);
    const form = this.#formOf(operand);
    if (this.#vectors.has(buffer)) return form.loadedOfFour(buffer, this.named(offset, scope));
    const isAtomic = this.#atomic.has(buffer);
    const isWindowed = this.#bindingOf(operand).windows !== undefined;
    const entry = (index: string): string =>
      isWindowed ? `${buffer}_at(${index})` : isAtomic ? `atomicLoad(&${buffer}[${index}])` : `${buffer}[${index}]`;
    return form.loaded(entry, form.isShared ? this.named(offset, scope) : this.value(offset, scope));
  }

  #formOf(operand: Operand): ElementForm {
    const binding = this.#signature.bindingOf(operand);
    return (this.#forms[binding] ??= elementForm(this.#signature.bindings[binding], this.#features.f16));
  }

  #bindingOf(operand: Operand): Binding {
    return this.#signature.bindings[this.#signature.bindingOf(operand)];
  }

  bufferName(operand: Operand): string {
    return `buffer${this.#signature.bindingOf(operand)}`;
  }

  /** Runs `body` for all values of `axes`, one loop in the other. */
  loops(axes: readonly AxisExpr[], scope: Scope, body: (scope: Scope) => void): void {
    if (axes.length === 0) {
      body(scope);
      return;
    }
    const [axis, ...rest] = axes;
    const name = this.axisName(axis);
    const inner = scope.open();
    const extent = this.value(axis.extent, inner);
    inner.bind(axis, name);
    this.loops(rest, inner, body);
    scope.close(`for (var ${name} = 0; ${name} < ${extent}; ${name}++)`, inner);
  }

  /** Runs `body` for all values of `axes`, dealt out to the threads of the workgroup; `body` gets the flat position. */
  sharedLoop(
    axes: readonly AxisExpr[],
    scope: Scope,
    workgroupSize: number,
    body: (scope: Scope, flat: string) => void,
  ) {
    const flat = this.fresh('step');
    const inner = scope.open();
    const total = this.extentsProduct(axes, inner);
    const { steps, kept } = this.cooperation ?? { steps: 0, kept: [] };
    if (steps > 0) {
      const own = this.fresh('own');
      inner.line(`let ${flat} = lane + ${own} * ${workgroupSize};`);
      inner.line(`if (${flat} >= ${total}) { continue; }`);
      this.unflatten(axes, flat, inner);
      const isKept = kept.filter(({ name }) => this.#filled.has(name));
      for (const { value, name } of isKept) inner.names.set(value, `${name}[${own}]`);
      body(inner, flat);
      for (const each of kept) {
        const text = isKept.includes(each) ? undefined : inner.names.get(each.value);
        if (text === undefined) continue;
        inner.line(`${each.name}[${own}] = ${text};`);
        this.#filled.add(each.name);
      }
      scope.close(`for (var ${own} = 0; ${own} < ${steps}; ${own}++)`, inner);
      return;
    }
    this.unflatten(axes, flat, inner);
    body(inner, flat);
    scope.close(`for (var ${flat} = lane; ${flat} < ${total}; ${flat} += ${workgroupSize})`, inner);
  }

  extentsProduct(axes: readonly AxisExpr[], scope: Scope): string {
    return axes.map((axis) => this.value(axis.extent, scope)).join(' * ') || '1';
  }

  /** Gives `axes` their values from a flat position, the last axis running fastest. */
  unflatten(axes: readonly AxisExpr[], flat: string, scope: Scope): void {
    const [names, extents] = this.#nameAxes(axes, scope);
    this.#divide(flat, 'let', names, extents, scope);
  }

  /** Names for axes that have values in `scope`, and their extents. */
  #nameAxes(axes: readonly AxisExpr[], scope: Scope): [names: string[], extents: string[]] {
    const names = axes.map((axis) => this.axisName(axis));
    const extents = axes.map((axis, position) => (position === 0 ? '' : this.value(axis.extent, scope)));
    axes.forEach((axis, position) => scope.bind(axis, names[position]));
    return [names, extents];
  }

  /** Takes a flat position apart: one division for each axis but the first, since the remainder would be another one. */
  #divide(
    flat: string,
    declare: 'let' | 'var',
    names: readonly string[],
    extents: readonly string[],
    scope: Scope,
  ): void {
    let rest = flat;
    for (let position = names.length - 1; position > 0; position--) {
      const next = this.fresh('rest');
      scope.line(`let ${next} = ${rest} / ${extents[position]};`);
      scope.line(`${declare} ${names[position]} = ${rest} - ${next} * ${extents[position]};`);
      rest = next;
    }
    if (names.length > 0) scope.line(`${declare} ${names[0]} = ${rest};`);
  }

  /**
   * Gives `axes` values in a loop over flat positions, from `start` on in steps of `step`: positions are divided before the loop, and go on by sums with a
   * carry, since a division takes longer than all of these.
   *
   * @returns what the loop ends with
   */
  unflattenInSteps(axes: readonly AxisExpr[], start: string, step: number, before: Scope, inner: Scope): string[] {
    const [names, extents] = this.#nameAxes(axes, inner);
    const steps = names.map((name) => `${name}_step`);
    this.#divide(start, 'var', names, extents, before);
    if (step > 1) this.#divide(String(step), 'let', steps, extents, before);
    let added = step > 1 ? '' : '1';
    const lines: string[] = [];
    for (let position = axes.length - 1; position >= 0; position--) {
      const [name, extent] = [names[position], extents[position]];
      lines.push(`${name} += ${step > 1 ? steps[position] + added : added};`);
      if (position === 0) break;
      const wraps = this.fresh('wraps');
      lines.push(`let ${wraps} = ${name} >= ${extent};`, `${name} -= select(0, ${extent}, ${wraps});`);
      added = `${step > 1 ? ' + ' : ''}select(0, 1, ${wraps})`;
    }
    return lines;
  }

  #reduce(expr: ReduceExpr, scope: Scope): string {
    const shared = this.cooperation !== null && this.cooperation.scope === scope;
    if (isPosition(expr.fn)) return this.#reduceToPosition(expr, expr.fn, scope, shared);
    const fits = (other: ReduceExpr): boolean => !isPosition(other.fn) && !scope.nameOf(other);
    return this.#homes.together(expr, scope, fits, (group) => this.#reduceGroup(group, scope, shared));
  }

  /** The name of the first of reductions that one loop works out; the others have names in the scope then. */
  #reduceGroup(group: readonly ReduceExpr[], scope: Scope, shared: boolean): string {
    const sums = group.map((each) => {
      const type = each.fn === 'any' || each.fn === 'all' ? 'bool' : each.body.type;
      const total = this.fresh(each.fn);
      scope.line(`var ${total} = ${this.value(neutralElement(each.fn, type), scope)};`);
      return { each, type, total, body: cast(type, each.body) };
    });
    const step = (inner: Scope): void => {
      for (const { each, type, total, body } of sums)
        inner.line(`${total} = ${combineCode(each.fn, type, total, this.value(body, inner))};`);
    };
    const [{ axes }] = group;
    if (shared) this.sharedLoop(axes, scope, this.cooperation!.workgroupSize, step);
    else this.loops(axes, scope, step);
    const [own] = sums.map(({ each, type, total }) => {
      let name = total;
      if (shared) {
        name = this.fresh(each.fn);
        scope.line(`let ${name} = ${this.#workgroupReduction(each.fn, type, total)};`);
      }
      if (each !== group[0]) scope.names.set(each, name);
      return name;
    });
    return own;
  }

  #reduceToPosition(expr: ReduceExpr, fn: 'argmax' | 'argmin', scope: Scope, shared: boolean): string {
    const { type } = expr.body;
    const best = this.fresh('best');
    const position = this.fresh('position');
    scope.line(`var ${best} = ${this.value(neutralElement(fn, type), scope)};`);
    scope.line(`var ${position} = -1;`);
    const step = (inner: Scope, flat: string): void => {
      const candidate = this.named(expr.body, inner);
      const wins = inner.open();
      wins.line(`${best} = ${candidate};`);
      wins.line(`${position} = ${flat};`);
      inner.close(`if (${position} < 0 || ${betterCode(fn, type, candidate, best)})`, wins);
    };
    if (!shared) {
      const flat = this.fresh('step');
      scope.line(`var ${flat} = 0;`);
      this.loops(expr.axes, scope, (inner) => {
        step(inner, flat);
        inner.line(`${flat}++;`);
      });
      return `i64_from_i32(${position})`;
    }
    this.sharedLoop(expr.axes, scope, this.cooperation!.workgroupSize, step);
    const winner = this.fresh('winner');
    scope.line(`let ${winner} = ${this.#workgroupPositionFunction(fn, type)}(${best}, ${position}, lane);`);
    return `i64_from_i32(${winner})`;
  }

  /** The text of what all threads' values come to. */
  #workgroupReduction(fn: ReduceFunction, type: Expr['type'], value: string): string {
    const name = `workgroup_${fn}_${type}`;
    const wgslType = wgslTypes[type];
    const { workgroupSize, subgroupFunction: write } = this.cooperation!;
    const ofSubgroups = write?.(name, fn, type, workgroupSize);
    if (ofSubgroups) {
      this.#workgroupFunctions.set(name, ofSubgroups);
      return `${name}(${value}, subgroup, subgroups)`;
    }
    this.#workgroupFunctions.set(
      name,
      `var<workgroup> scratch_${name}: array<${wgslType}, ${workgroupSize}>;

fn ${name}(value: ${wgslType}, lane: i32) -> ${wgslType} {
  scratch_${name}[lane] = value;
  workgroupBarrier();
  for (var width = ${workgroupSize / 2}; width > 0; width = width / 2) {
    if (lane < width) {
      scratch_${name}[lane] = ${combineCode(fn, type, `scratch_${name}[lane]`, `scratch_${name}[lane + width]`)};
    }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&scratch_${name}[0]);
}`,
    );
    return `${name}(${value}, lane)`;
  }

  #workgroupPositionFunction(fn: 'argmax' | 'argmin', type: Expr['type']): string {
    const name = `workgroup_${fn}_${type}`;
    const { workgroupSize } = this.cooperation!;
    const better = (x: string, best: string) => betterCode(fn, type, `value_${name}[${x}]`, `value_${name}[${best}]`);
    this.#workgroupFunctions.set(
      name,
      `var<workgroup> value_${name}: array<${wgslTypes[type]}, ${workgroupSize}>;
var<workgroup> position_${name}: array<i32, ${workgroupSize}>;

fn ${name}(value: ${wgslTypes[type]}, position: i32, lane: i32) -> i32 {
  value_${name}[lane] = value;
  position_${name}[lane] = position;
  workgroupBarrier();
  for (var width = ${workgroupSize / 2}; width > 0; width = width / 2) {
    if (lane < width) {
      let mine = position_${name}[lane];
      let other = position_${name}[lane + width];
      let better = ${better('lane + width', 'lane')};
      let worse = ${better('lane', 'lane + width')};
      // Of equals the first wins; a thread that saw nothing has no position.
      if (other >= 0 && (mine < 0 || better || (!worse && other < mine))) {
        value_${name}[lane] = value_${name}[lane + width];
        position_${name}[lane] = other;
      }
    }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&position_${name}[0]);
}`,
    );
    return name;
  }

  /**
   * The stores of one point: all values are worked out before the first is written, for one may read what another writes.
   *
   * @param collects what becomes of an element that is stored with the others of its word
   */
  stores(stores: readonly Store[], scope: Scope, collects?: ReadonlyMap<Store, (bits: string) => string>): void {
    const lines = stores.map((store) => {
      const { dtype } = store.operand;
      const value = this.value(cast(exprTypeOf(dtype), store.value), scope);
      const form = this.#formOf(store.operand);
      const element = toStored(dtype, value);
      const own = store.combine ? value : form.isShared ? packed(dtype, element) : form.stored(element);
      const isExchanged = store.combine !== undefined || form.isShared;
      const collect = collects?.get(store);
      const place = isExchanged ? '' : this.value(store.offset, scope);
      const guard = store.guard ? this.value(store.guard, scope) : null;
      const assign = (text: string): string => {
        const statement =
          collect?.(text) ??
          (isExchanged
            ? this.#exchanging(store, text, scope)
            : `${this.bufferName(store.operand)}[${place}] = ${text};`);
        return guard === null ? statement : `if (${guard}) { ${statement} }`;
      };
      if (stores.length === 1 && (collect || !isExchanged)) return assign(own);
      const name = this.fresh('result');
      scope.line(`let ${name} = ${own};`);
      return assign(name);
    });
    for (const line of lines) scope.line(line);
  }

  /** Stores what elements came to that are words, of which the first point is number `first`. */
  storeWord({ operand, offset }: Store, word: string, first: string, scope: Scope): void {
    const buffer = this.bufferName(operand);
    // A sum in normal form begins with what is no index.
    let base = offset;
    while (base.kind === 'binary') base = base.x;
    const place = base.kind === 'param' ? `(${this.value(base, scope)} + ${first})` : first;
    const index = `${place} >> ${this.#formOf(operand).toWord / 2}u`;
    scope.line(
      this.#atomic.has(buffer) ? `atomicStore(&${buffer}[${index}], ${word});` : `${buffer}[${index}] = ${word};`,
    );
  }

  /** Joins `value` with an element that other threads may change meanwhile, or puts it among those that they store in the same word. */
  #exchanging({ operand, offset, combine }: Store, value: string, scope: Scope): string {
    const { dtype } = operand;
    const type = exprTypeOf(dtype);
    const buffer = this.bufferName(operand);
    const place = this.fresh('place');
    scope.line(`let ${place} = ${this.value(offset, scope)};`);
    if (type === 'i64') {
      // A carry comes of the lower word as it was: whatever the order, the sum is right in the end.
      return (
        `let low_${place} = atomicAdd(&${buffer}[2 * ${place}], ${value}.x); ` +
        `atomicAdd(&${buffer}[2 * ${place} + 1], ${value}.y + select(0u, 1u, low_${place} + ${value}.x < low_${place}));`
      );
    }
    const old = `old_${place}`;
    const { toWord } = this.#formOf(operand);
    const index = `${place} & ${toWord - 1}`;
    const current = toWord > 1 ? unpacked(dtype, old, `(${index})`) : type === 'float' ? `bitcast<f32>(${old})` : old;
    let next = value;
    if (combine) {
      const joined = toStored(dtype, combineCode(combine, type, fromStored(dtype, current), value));
      next = toWord > 1 ? packed(dtype, joined) : type === 'float' ? `bitcast<u32>(${joined})` : joined;
    }
    const bits = 32 / toWord;
    if (toWord > 1) next = `insertBits(${old}, ${next}, ${bits}u * u32(${index}), ${bits}u)`;
    const target = `&${buffer}[${toWord > 1 ? `${place} >> ${toWord / 2}u` : place}]`;
    return (
      `var ${old} = atomicLoad(${target}); loop { ` +
      `let swap_${place} = atomicCompareExchangeWeak(${target}, ${old}, ${next}); ` +
      `if (swap_${place}.exchanged) { break; } ${old} = swap_${place}.old_value; }`
    );
  }

  /** Has a kernel as a function, which takes its builtins. */
  addFunction(name: string, code: KernelCode): KernelCode {
    const parameters = code.builtins.map((builtin) => builtin.replace(/^@builtin\(\w+\) /, ''));
    this.#functions.push(`fn ${name}(${parameters.join(', ')}) {\n${code.body.lines.join('\n')}\n}`);
    this.cooperation = null;
    return code;
  }

  /** The whole shader around the body of its entry point. */
  assemble(label: string, { builtins, workgroupSize, body }: KernelCode): ShaderText {
    const parts = [`// ${label}`];
    if (builtins.some((builtin) => builtin.includes('subgroup'))) parts.push('enable subgroups;');
    if (this.#signature.bindings.some(({ operand }) => this.#formOf(operand).isHalf)) parts.push('enable f16;');
    let binding = 0;
    if (this.uniforms.byteLength > 0) {
      parts.push(
        `struct Params {\n${this.uniforms.members().join('\n')}\n}\n\n` +
          `@group(0) @binding(${binding++}) var<uniform> params: Params;`,
      );
    }
    const declared = (name: string, access: string, type: string): string =>
      `@group(0) @binding(${binding++}) var<storage, ${access}> ${name}: array<${type}>;`;
    const buffers = this.#signature.bindings.flatMap(({ operand, stored: isStored, windows }) => {
      const name = this.bufferName(operand);
      const form = this.#formOf(operand);
      if (windows) {
        const parts = Array.from({ length: windows.count }, (_, at) => `${name}_${at}`);
        return [...parts.map((part) => declared(part, 'read', form.type)), windowedLoad(name, form, windows)];
      }
      const type = this.#atomic.has(name) ? form.atomic : this.#vectors.has(name) ? form.four : form.type;
      return [declared(name, isStored ? 'read_write' : 'read', type)];
    });
    parts.push(buffers.join('\n'));
    const main = `@compute @workgroup_size(${workgroupSize})
fn main(
${builtins.map((builtin) => `  ${builtin},`).join('\n')}
) {
${body.lines.join('\n')}
}`;
    const own = [...this.#workgroupFunctions.values(), ...this.#functions];
    const { sources, areMissing } = libraryFunctionsIn([...own, main].join('\n'));
    parts.push(...sources, ...own, main);
    return {
      code: `${parts.join('\n\n')}\n`,
      uniforms: this.uniforms,
      missing: areMissing ? fetchRareFunctions : null,
    };
  }
}

/** A function that takes an element, or a word of several, of the window that has it. */
function windowedLoad(
  name: string,
  { type, byteLength }: ElementForm,
  windows: NonNullable<Binding['windows']>,
): string {
  const length = windows.byteLength / byteLength;
  const lines = Array.from({ length: windows.count }, (_, at) => {
    const element = `return ${name}_${at}[at - ${at * length}];`;
    return at < windows.count - 1 ? `  if (at < ${(at + 1) * length}) { ${element} }` : `  ${element}`;
  });
  return `fn ${name}_at(at: i32) -> ${type} {\n${lines.join('\n')}\n}`;
}

const isPosition = (fn: ReduceFunction): fn is 'argmax' | 'argmin' => fn === 'argmax' || fn === 'argmin';
