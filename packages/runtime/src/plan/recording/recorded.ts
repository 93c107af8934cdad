import type { Recording } from './recording.ts';

/** What a stretch is made of. */
export type Recorded = Pick<
  Recording,
  | 'frame'
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
  | 'liveInOf'
  | 'isConstant'
  | 'isOfFaults'
  | 'attributeOf'
>;
