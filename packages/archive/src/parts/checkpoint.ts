export { readCheckpoint } from '../checkpoint/checkpoint-reader.ts';
export { readCheckpointFile } from '../checkpoint/checkpoint-file.ts';
