import { signatureOf } from '../kernels/signature.ts';
import { scheduleKey, type Launch } from '../schedules/schedule.ts';
import { scheduledLaunch } from '../schedules/scheduled-launch.ts';

/** What was found of one class of kernels in one bucket of shapes. */
export interface ScheduleChoice {
  /** The key of the schedule that was chosen, or the number of chunks. */
  readonly chosen: string;
  /** Of all that were measured, by their keys: how long a launch takes, in nanoseconds. The rule's comes first. */
  readonly times: Readonly<Record<string, number>>;
}

/** Extents up to this are told apart, those above by powers of two. */
const exactExtents = 16;

/**
 * What kernels have in common whose schedule is chosen once: the structure that makes one shader of them, the schedule that the rule gives, and about how
 * large they are.
 */
export function choiceKey(rule: Launch): string {
  const { extents } = scheduledLaunch(rule);
  const bucket = extents.map((extent) => (extent <= exactExtents ? extent : 2 ** Math.ceil(Math.log2(extent))));
  return `${shortened(signatureOf(rule.kernel).key)} ${scheduleKey(rule.schedule)} ${bucket.join('x')}`;
}

/** 64 bits in the place of a long key: of kernels that share one, a choice would be taken for another's, which is slower at worst. */
function shortened(key: string): string {
  let [a, b] = [0x811c9dc5 | 0, 0x9747b28c | 0];
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ (b >>> 15) ^ code, 0x85ebca6b) + 0x27d4eb2f;
    a ^= a >>> 13;
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Choices as a text that {@link parseChoices} reads. */
export const choicesText = (choices: ReadonlyMap<string, ScheduleChoice>): string =>
  JSON.stringify(Object.fromEntries(choices));

/** The choices in a text that was kept; those that are damaged are left out. */
export function parseChoices(text: string): Map<string, ScheduleChoice> {
  let entries: [string, unknown][];
  try {
    entries = Object.entries(JSON.parse(text) as object);
  } catch {
    return new Map();
  }
  return new Map(entries.filter((entry): entry is [string, ScheduleChoice] => isChoice(entry[1])));
}

function isChoice(value: unknown): value is ScheduleChoice {
  const { chosen, times } = (value ?? {}) as Partial<Record<keyof ScheduleChoice, unknown>>;
  if (typeof chosen !== 'string' || typeof times !== 'object' || times === null) return false;
  return chosen in times && Object.values(times).every((time) => typeof time === 'number' && time >= 0);
}
