/** The address of a classic script, which is known only while it is run for the first time. */
export const scriptAddress = (globalThis.document?.currentScript as HTMLScriptElement | null | undefined)?.src;
