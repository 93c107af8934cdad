/**
 * The items of a named tuple with its fields as properties. As in Python, those go before the methods that an array has (`values`, `map`);
 * `length` alone stays the number of items: a field of that name goes by its place.
 */
export function withFields<Item>(items: Item[], fields: readonly string[] | null | undefined): Item[] {
  fields?.forEach((field, index) => {
    if (field !== 'length') Object.defineProperty(items, field, { value: items[index] });
  });
  return items;
}

/** As `items.map(of)`, which the field of a named tuple may hide. */
export function mapItems<Item, Result>(items: readonly Item[], of: (item: Item) => Result): Result[] {
  const results: Result[] = [];
  for (const item of items) results.push(of(item));
  return results;
}
