// What each package, and each family of operators, weighs in the published library, by its source maps. Compressed bytes belong to a
// file; the sources in it share them by the length of the text that came of them.
import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const digits = new Map([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((c, at) => [c, at]));

/** The numbers of one segment of a source map: groups of five bits, the lowest first, with the sign in the lowest of all. */
function numbersOf(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const group = digits.get(character);
    value += (group & 31) << shift;
    shift += 5;
    if (group & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return numbers;
}

/** How many characters of a text each source is the origin of. A stretch goes from its mapping to the next one in its line. */
function lengthsBySource(text, { sources, mappings }) {
  const lengths = new Map();
  const lines = text.split('\n');
  let source = 0;
  for (const [line, segments] of mappings.split(';').entries()) {
    let column = 0;
    let owner = null;
    const end = (at) => {
      if (owner !== null) lengths.set(owner, (lengths.get(owner) ?? 0) + at - column);
    };
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [columns, step] = numbersOf(segment);
      end(column + columns);
      column += columns;
      source += step ?? 0;
      owner = step === undefined ? null : sources[source];
    }
    end(lines[line].length);
  }
  return lengths;
}

/** The family, or else the room or the package, that a source stands in: `families/linalg`, `operators/kernels`, `frontend`. */
function placeOf(source) {
  const [, name = 'cresset', path] = /(?:\.\.\/\.\.\/([\w-]+)|\.\.)\/src\/(.*)$/.exec(source) ?? [];
  if (path === undefined) return 'elsewhere';
  if (name !== 'operators') return name;
  const [room, family] = path.split('/');
  if (room === 'families' && !family.endsWith('.ts')) return `families/${family}`;
  return room.endsWith('.ts') ? name : `operators/${room}`;
}

/** Compressed bytes by place, of files with their maps in a folder; the largest first. */
export function familySizes(folder, files) {
  const sizes = new Map();
  for (const file of files) {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const map = new URL(`${file}.map`, folder);
    // What the bundler wrote itself has none.
    const lengths = existsSync(map) ? lengthsBySource(text, JSON.parse(readFileSync(map, 'utf8'))) : new Map([['', 1]]);
    const whole = [...lengths.values()].reduce((sum, length) => sum + length, 0);
    const bytes = gzipSync(text, { level: 9 }).length;
    for (const [source, length] of lengths) {
      const place = placeOf(source);
      sizes.set(place, (sizes.get(place) ?? 0) + (bytes * length) / whole);
    }
  }
  return [...sizes].sort(([, a], [, b]) => b - a);
}
