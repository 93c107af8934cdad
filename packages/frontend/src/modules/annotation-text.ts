import type { Expr } from '../parser/tree.ts';
import { PythonClass, QualifiedName } from '../python/interpreter/entities.ts';
import type { Interpreter } from '../python/interpreter/interpreter.ts';
import type { Scope } from '../python/interpreter/scope.ts';
import type { PythonValue } from '../python/python-value.ts';

/** Whether annotations are texts to Python: where the file has `from __future__ import annotations`, or one is written as such. */
export function isTextToPython(annotation: Expr, scope: Scope): boolean {
  if (annotation.kind === 'string') return true;
  const future = scope.globals.names.get('annotations');
  return future instanceof QualifiedName && future.path === '__future__.annotations';
}

/** What Python says an annotation is (`repr`), as messages of PyTorch show it. */
export function annotationText(python: Interpreter, annotation: Expr, scope: Scope): string {
  if (annotation.kind === 'string') return annotation.text;
  if (isTextToPython(annotation, scope)) return annotation.range.text();
  const written = partText(python, annotation, scope);
  const value = annotation.kind === 'subscript' ? undefined : python.evaluate(annotation, scope);
  return value instanceof PythonClass || isBuiltin(value) ? `<class '${written}'>` : written;
}

function partText(python: Interpreter, expr: Expr, scope: Scope): string {
  switch (expr.kind) {
    case 'subscript': {
      const parts = expr.subscripts.map((part) => partText(python, part, scope));
      return `${partText(python, expr.value, scope)}[${parts.join(', ')}]`;
    }
    case 'list':
      return `[${expr.inputs.map((part) => partText(python, part, scope)).join(', ')}]`;
    case 'var':
    case 'select':
      return nameOf(python.evaluate(expr, scope)) ?? expr.range.text();
    default:
      return expr.range.text();
  }
}

function isBuiltin(value: PythonValue | undefined): boolean {
  return value instanceof QualifiedName && value.path.startsWith('builtins.');
}

function nameOf(value: PythonValue): string | undefined {
  if (value instanceof QualifiedName) return value.path.replace(/^builtins\./, '');
  if (!(value instanceof PythonClass)) return undefined;
  const module = value.definition?.scope.module;
  return module === undefined ? value.name : `${module}.${value.name}`;
}
