/** Texts of arguments, parted by commas that are not within brackets. */
export function piecesOf(text: string): string[] {
  const trimmed = text.trim();
  return trimmed ? trimmed.split(/\s*,\s*(?![^()[\]]*[)\]])/) : [];
}

/** Texts of results, which have brackets around them where there are several, or none. */
export const resultsOf = (text: string): string[] => piecesOf(text.replace(/^\((.*)\)$/s, '$1'));
