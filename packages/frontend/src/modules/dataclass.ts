import type { Assign, ClassDef, Expr } from '../parser/tree.ts';
import { dottedName } from '../script-type-parser.ts';

interface Field {
  readonly name: string;
  readonly annotation: string;
  /** Source of the default value; undefined where there is none. */
  readonly defaultText: string | undefined;
  readonly isInitVar: boolean;
}

/**
 * Source of the methods that `@dataclass` adds to a class: `__init__`, `__eq__`, and the comparisons where `order=True`; those that the class
 * defines itself are left out.
 */
export function dataclassMethods(
  classDef: ClassDef,
  assignments: readonly Assign[],
  existing: ReadonlySet<string>,
): string {
  const fields = assignments.filter((assign) => assign.type !== undefined).map(fieldOf);
  const stored = fields.filter((field) => !field.isInitVar);
  const methods: [name: string, text: string][] = [['__init__', initText(fields, existing.has('__post_init__'))]];
  const name = classDef.name.name;
  methods.push(['__eq__', compareText(name, '__eq__', equalityText(stored))]);
  if (isOrdered(classDef)) {
    for (const [method, op] of [
      ['__lt__', '<'],
      ['__gt__', '>'],
    ] as const) {
      methods.push([method, compareText(name, method, orderText(stored, op))]);
    }
    methods.push(['__le__', compareText(name, '__le__', '    return not self.__gt__(other)\n')]);
    methods.push(['__ge__', compareText(name, '__ge__', '    return not self.__lt__(other)\n')]);
  }
  return methods
    .filter(([method]) => !existing.has(method))
    .map(([, text]) => text)
    .join('');
}

function isOrdered(classDef: ClassDef): boolean {
  return classDef.decorators.some(
    (decorator) =>
      decorator.kind === 'apply' &&
      decorator.attributes.some(({ name, value }) => name.name === 'order' && value.kind === 'bool' && value.value),
  );
}

function fieldOf(assign: Assign): Field {
  const type = assign.type!;
  const isInitVar = type.kind === 'subscript' && /(^|\.)InitVar$/.test(dottedName(type.value) ?? '');
  const annotated = isInitVar ? type.subscripts[0]! : type;
  return {
    name: dottedName(assign.lhsList[0]!)!,
    annotation: annotated.range.text(),
    defaultText: assign.rhs === undefined ? undefined : defaultText(assign.rhs),
    isInitVar,
  };
}

/** `field(default=x)` is x. */
function defaultText(rhs: Expr): string | undefined {
  if (rhs.kind === 'apply' && dottedName(rhs.callee)?.split('.').at(-1) === 'field') {
    const value = rhs.attributes.find(({ name }) => name.name === 'default')?.value;
    return value === undefined ? undefined : textOf(value);
  }
  return textOf(rhs);
}

/** Source of a default value. The range of a string may end before the literal does. */
function textOf(value: Expr): string {
  return value.kind === 'string' ? JSON.stringify(value.text) : value.range.text();
}

function initText(fields: readonly Field[], hasPostInit: boolean): string {
  const params = fields.map(
    ({ name, annotation, defaultText: text }) => `${name}: ${annotation}${text === undefined ? '' : ` = ${text}`}`,
  );
  const lines = fields.filter((field) => !field.isInitVar).map(({ name }) => `    self.${name} = ${name}\n`);
  if (hasPostInit) {
    const initVars = fields.filter((field) => field.isInitVar).map(({ name }) => name);
    lines.push(`    self.__post_init__(${initVars.join(', ')})\n`);
  }
  return `def __init__(self, ${params.join(', ')}):\n${lines.join('') || '    pass\n'}`;
}

function compareText(className: string, method: string, body: string): string {
  return `def ${method}(self, other: ${className}) -> bool:\n${body}`;
}

function equalityText(fields: readonly Field[]): string {
  const comparisons = fields.map(({ name }) => `self.${name} == other.${name}`);
  return `    return ${comparisons.join(' and ') || 'True'}\n`;
}

/** Fields are compared one after the other, as tuples are. */
function orderText(fields: readonly Field[], op: string): string {
  const lines = fields.map(
    ({ name }) => `    if self.${name} != other.${name}:\n        return self.${name} ${op} other.${name}\n`,
  );
  return `${lines.join('')}    return False\n`;
}
