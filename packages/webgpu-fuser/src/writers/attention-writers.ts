export { writeOwnRows } from './own-rows-writer.ts';
export { writeSharedRows } from './shared-rows-writer.ts';
