export { FileCache } from '../file-cache.ts';
