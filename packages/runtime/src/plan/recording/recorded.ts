import type { Recording } from './recording.ts';

/** What a stretch is made of. */
export type Recorded = Pick<
  Recording,
  | 'frame'
  | 'env'
  | 'gradEnabled'
  | 'notesFaults'
  | 'firstSerial'
  | 'instructions'
  | 'liveIns'
  | 'liveInStorages'
  | 'launches'
  | 'labels'
  | 'contents'
  | 'storages'
  | 'registers'
  | 'steps'
  | 'hostSteps'
  | 'draws'
  | 'appends'
  | 'sourceOf'
  | 'sizeOf'
  | 'sizesInList'
  | 'liveInOf'
  | 'isConstant'
  | 'isOfFaults'
  | 'attributeOf'
>;
