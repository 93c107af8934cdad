export { FileCache } from '../sources/file-cache.ts';
