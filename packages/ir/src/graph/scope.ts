import type { ScriptFunction } from '../types/named-types.ts';
import type { SourceRange } from '../text/source-range.ts';

/** Where in a tree of modules a node was made, in a traced graph (PyTorch: Scope). Immutable. */
export class Scope {
  static readonly root = new Scope('', undefined);

  readonly name: string;
  readonly parent: Scope | undefined;

  private constructor(name: string, parent: Scope | undefined) {
    this.name = name;
    this.parent = parent;
  }

  push(name: string): Scope {
    return new Scope(name, this);
  }

  get isRoot(): boolean {
    return this.parent === undefined;
  }

  /** The names from the root down, `Net/layer1/conv` (PyTorch: namesFromRoot). */
  namesFromRoot(separator = '/'): string {
    const before =
      this.parent === undefined || this.parent.isRoot ? '' : this.parent.namesFromRoot(separator) + separator;
    return before + this.name;
  }
}

/** Which instance of a module a call was made on, for messages and profiles (PyTorch: ModuleInstanceInfo). */
export interface ModuleInstanceInfo {
  readonly typeName: string;
  readonly instanceName: string;
}

/**
 * The calls an inlined node came through, outermost first (PyTorch: InlinedCallStack). Immutable.
 *
 * Each entry is a function, and the range in its *caller* where it was called.
 */
export class InlinedCallStack {
  readonly callee: InlinedCallStack | undefined;
  readonly function: ScriptFunction | undefined;
  readonly functionName: string;
  readonly sourceRange: SourceRange | undefined;
  readonly moduleInstance: ModuleInstanceInfo | undefined;

  constructor(
    fn: ScriptFunction | undefined,
    sourceRange: SourceRange | undefined,
    options: {
      callee?: InlinedCallStack | undefined;
      functionName?: string;
      moduleInstance?: ModuleInstanceInfo | undefined;
    } = {},
  ) {
    this.function = fn;
    this.functionName = options.functionName ?? fn?.name ?? '';
    this.sourceRange = sourceRange;
    this.callee = options.callee;
    this.moduleInstance = options.moduleInstance;
  }

  /** The entries from the outermost call to the innermost (PyTorch: vec). */
  entries(): readonly InlinedCallStack[] {
    const entries: InlinedCallStack[] = [];
    for (let call: InlinedCallStack | undefined = this; call !== undefined; call = call.callee) {
      entries.push(call);
    }
    return entries;
  }
}
