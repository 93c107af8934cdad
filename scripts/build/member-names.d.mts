/** New names for members of classes, the same in all of the scripts. */
export function memberNames(scripts: readonly string[], known: readonly string[]): ReadonlyMap<string, string>;
