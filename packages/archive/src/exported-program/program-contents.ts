import type { ScalarType } from '@cresset/tensor';
import type { ArchiveContents } from '../sources/byte-source.ts';
import { operatorOf } from './conversion/serialized-node.ts';
import { JsonObject } from './json-object.ts';
import { scalarTypeOf } from './number-codes.ts';

/** What a program says that it needs: the names of its operators and the element types of its tensors, graphs within graphs included. */
export function contentsOf(program: JsonObject): ArchiveContents {
  const operators = new Set<string>();
  const dtypes = new Set<ScalarType>();
  let isAutocast = false;
  for (const graph of graphsOf(program.object('graph_module').object('graph'))) {
    for (const node of graph.objects('nodes')) {
      const target = node.text('target');
      const named = operatorOf(target);
      if (named) {
        const [namespace, name] = named.name.split('::');
        operators.add(namespace.startsWith('quantized') ? `ops.${namespace}.${name}()` : `${name}()`);
      } else {
        operators.add(`${target.slice(target.lastIndexOf('.') + 1).replace(/^_sym_/, '')}()`);
      }
      isAutocast ||= target.endsWith('wrap_with_autocast');
    }
    for (const [, meta] of graph.object('tensor_values').entries)
      if (meta instanceof JsonObject) dtypes.add(scalarTypeOf(meta.get('dtype')));
  }
  // As code would name it, which says what a program needs of the library.
  return { code: [[...operators, isAutocast ? 'autocast' : ''].join('\n')], pickles: [], dtypes: [...dtypes] };
}

/** A graph and those within it. */
function graphsOf(graph: JsonObject): JsonObject[] {
  const found = [graph];
  for (const each of found) {
    for (const node of each.objects('nodes')) {
      for (const input of node.objects('inputs')) {
        const [tag, value] = input.object('arg').variant();
        if (tag === 'as_graph' && value instanceof JsonObject) found.push(value.object('graph'));
      }
    }
  }
  return found;
}

/** The Python classes of modules by their paths, as the module stacks of nodes tell them: `layer1.0` is a `torch.nn.modules.conv.Conv2d`. */
export function moduleClasses(graph: JsonObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of graph.objects('nodes')) {
    const metadata = node.get('metadata');
    const stack = metadata instanceof JsonObject ? metadata.get('nn_module_stack') : undefined;
    if (typeof stack !== 'string') continue;
    for (const entry of stack.split(';')) {
      const [, path, type] = entry.split(',');
      if (path !== undefined && type !== undefined && !found.has(path)) found.set(path, type.replace('__main__.', ''));
    }
  }
  return found;
}
