import {
  Argument,
  FunctionSchema,
  Source,
  TensorType,
  type GraphFunction,
  type NamedType,
  type SourceRange,
  type Type,
} from '@cresset/ir';
import { makeTypeParser } from '../define.ts';
import { parsePythonFile } from '../parser/python-parser.ts';
import type { ClassDef, Def, Expr } from '../parser/tree.ts';
import type { Interpreter } from '../python/interpreter/interpreter.ts';
import type { Scope } from '../python/interpreter/scope.ts';
import type { PythonValue } from '../python/python-value.ts';
import { pythonRepr } from '../python/python-value.ts';
import type { Resolver } from '../resolver.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { constantAsValue } from './constants.ts';
import type { GivenValue, GivenValues } from './given-value.ts';
import { OutsideFunction } from './outside-function.ts';
import { ScriptedClass, scriptedMember, scriptedModule, ScriptedUnit } from './scripted-entities.ts';

/** What a program is given by name: names of its file, as if Python had them before its first line. */
export class GivenNames {
  /** Values that are constants of functions, by their names. */
  readonly #constants = new Map<string, PythonValue>();
  /** Classes that were made of what was given: enums. */
  readonly classes: ClassDef[] = [];

  /**
   * Puts the names into a file's scope. Throws an ErrorReport for a signature, or an expression, that is no Python.
   *
   * @param resolver knows the types that signatures name
   */
  define(given: GivenValues, python: Interpreter, scope: Scope, resolver: Resolver): void {
    for (const [name, value] of given) {
      const made = this.#make(name, value, python, scope, resolver);
      if (made !== undefined) scope.names.set(name, made);
    }
  }

  #make(
    name: string,
    given: GivenValue,
    python: Interpreter,
    scope: Scope,
    resolver: Resolver,
  ): PythonValue | undefined {
    switch (given.kind) {
      case 'value':
        return this.#constant(name, given.value);
      case 'expression': {
        const expr = expressionIn(given.text, name);
        return this.#constant(
          name,
          python.run(expr.range, () => python.evaluate(expr, scope)),
        );
      }
      case 'enum':
        return this.#enum(name, given.members, python, scope);
      case 'outside': {
        const [def] = statementsIn(`def ${name}${given.signature}: ...`, name) as readonly Def[];
        const schema = outsideSchema(makeTypeParser(resolver).parseSchemaFromDef(def!, false));
        return new OutsideFunction(schema, given.register(schema));
      }
      case 'member':
        return scriptedMember(given.member);
      case 'unit':
        return new ScriptedUnit(given.member);
      case 'module':
        return scriptedModule(python, given.module);
    }
  }

  #enum(
    name: string,
    members: readonly (readonly [name: string, value: PythonValue])[],
    python: Interpreter,
    scope: Scope,
  ): undefined {
    const lines = members.map(([member, value]) => `    ${member} = ${pythonRepr(value)}\n`);
    const statements = statementsIn(`class ${name}(Enum):\n${lines.join('')}`, name);
    scope.names.set('Enum', python.special.enumClass);
    python.run(undefined, () => python.execute(statements, scope));
    scope.names.delete('Enum');
    this.classes.push(statements[0] as ClassDef);
  }

  #constant(name: string, value: PythonValue): PythonValue {
    this.#constants.set(name, value);
    return value;
  }

  /** What a name means in a function whose value is the one that was given; undefined where it is something else. */
  find(name: string, value: PythonValue, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    return this.#constants.has(name) && this.#constants.get(name) === value
      ? constantAsValue(value, fn, range)
      : undefined;
  }
}

/**
 * The schema of a function that is left to Python: PyTorch looks at no defaults, and takes what is not annotated for a tensor (PyTorch:
 * PythonValue::getSchema).
 */
function outsideSchema({ name, arguments: args, returns }: FunctionSchema): FunctionSchema {
  const plainType = (type: Type): Type => (type instanceof TensorType ? TensorType.get() : type);
  const given = args.map(
    (each) => new Argument(each.name, plainType(each.type), { N: each.N, kwargOnly: each.kwargOnly }),
  );
  return new FunctionSchema(name, '', given, [new Argument('0', returns[0]?.type ?? TensorType.get())]);
}

function statementsIn(text: string, name: string): ReturnType<typeof parsePythonFile>['statements'] {
  return parsePythonFile(new Source(text, `<${name}>`)).statements;
}

function expressionIn(text: string, name: string): Expr {
  const [statement] = statementsIn(`(${text})`, name);
  return (statement as { readonly expr: Expr }).expr;
}

/** The class that a name means, which may stand in a unit: `Tag`, `unit.Tag`. Undefined where it means none that was compiled before. */
export function scriptedTypeNamed(name: string, scope: Scope): NamedType | undefined {
  const [root = '', field] = name.split('.');
  const value = scope.find(root);
  const found = value instanceof ScriptedUnit && field !== undefined ? value.member(field) : value;
  return found instanceof ScriptedClass ? found.type : undefined;
}
