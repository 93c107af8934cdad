// Shorter names for members of the engine's classes. A minifier cannot tell which properties are asked for by a name that is put together or comes from
// a file, and so leaves all of them as they are. Here a name is given another only where it can be nothing but a member of a class: it is
// no key of an object's literal, no word of a text, none of JavaScript's or the browser's own, and nothing that a page or its author knows.
import { parseAst } from 'vite';

const words = (text) => text.match(/[A-Za-z_$][\w$]*/g) ?? [];

/** What a script's tree says of names. */
class NamesOfScripts {
  members = new Map();
  /** Names that are more than members. */
  others = new Set();

  read(node, parent) {
    if (Array.isArray(node)) for (const each of node) this.read(each, parent);
    else if (node !== null && typeof node === 'object') {
      this.#note(node, parent);
      for (const value of Object.values(node)) if (typeof value === 'object') this.read(value, node);
    }
  }

  #note(node, parent) {
    const { type } = node;
    const name = node.computed ? undefined : (node.key ?? node.property)?.name;
    if (type === 'Literal' && typeof node.value === 'string')
      words(node.value).forEach((word) => this.others.add(word));
    if (type === 'TemplateElement') words(node.value.cooked ?? '').forEach((word) => this.others.add(word));
    if (name === undefined) return;
    if (type === 'Property' && parent.type !== 'ObjectPattern') this.others.add(name);
    const isDeclared = type === 'MethodDefinition' || type === 'PropertyDefinition';
    if (isDeclared || type === 'MemberExpression') {
      const { count, declared } = this.members.get(name) ?? { count: 0, declared: false };
      this.members.set(name, { count: count + 1, declared: declared || isDeclared });
    }
  }
}

/** Two letters, then three: names for members, from which those that are taken are left out. */
function* shortNames() {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  for (const first of letters) for (const second of letters) yield first + second;
  for (const first of letters) for (const second of letters) for (const third of letters) yield first + second + third;
}

/**
 * New names for members, the same in all of the scripts.
 * @param {string[]} scripts the texts of the engine and its parts
 * @param {string[]} known texts of whatever else is loaded beside them, with the declarations of what their users see
 * @returns {ReadonlyMap<string, string>}
 */
export function memberNames(scripts, known) {
  const names = new NamesOfScripts();
  for (const script of scripts) names.read(parseAst(script));
  const knownWords = new Set(known.flatMap(words));
  const isOwn = ([name, { declared }]) =>
    declared && name.length > 2 && !names.others.has(name) && !knownWords.has(name);
  const own = [...names.members].filter(isOwn).sort(([, a], [, b]) => b.count - a.count);
  const free = shortNames();
  const renamed = new Map();
  for (const [name] of own) {
    let short;
    do short = free.next().value;
    while (names.members.has(short) || names.others.has(short) || knownWords.has(short));
    renamed.set(name, short);
  }
  return renamed;
}
