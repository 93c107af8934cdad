/** What the build of the library puts in the place of these names; see scripts/build.mjs. */
declare const __PART_ADDRESSES__: Readonly<Record<string, string>>;
declare const __ENGINE_TEXT__: string;
