/** What `find` makes of each object, which does not change: found once, and kept as long as the object is. */
export function remembered<Key extends object, Found>(find: (key: Key) => Found): (key: Key) => Found {
  const known = new WeakMap<Key, Found>();
  return (key) => {
    let found = known.get(key);
    if (found === undefined) known.set(key, (found = find(key)));
    return found;
  };
}
