export { readCheckpoint } from '../checkpoint-reader.ts';
export { readCheckpointFile } from '../checkpoint-file.ts';
