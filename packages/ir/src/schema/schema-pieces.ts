/** Texts of arguments, parted by commas that are not within brackets. */
export const piecesOf = (text: string): string[] =>
  text.trim() === '' ? [] : text.trim().split(/\s*,\s*(?![^()[\]]*[)\]])/);

/** Texts of results, which have brackets around them where there are several, or none. */
export const resultsOf = (text: string): string[] => piecesOf(text.replace(/^\(([^]*)\)$/, '$1'));
