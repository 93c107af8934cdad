/** The library's version. */
export const version = '0.1.0';
