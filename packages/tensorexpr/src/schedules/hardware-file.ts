import type { HardwareSchedules } from './hardware-schedules.ts';

/** Fetches what only hardware gets, for the capabilities of such a device. In a file of its own: who asks for it has no schedules yet. */
export async function fetchHardwareSchedules(): Promise<HardwareSchedules> {
  return import('./hardware-schedules.ts');
}
