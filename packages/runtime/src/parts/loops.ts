import { extendServices } from '@cresset/ir';
import { rollRecording } from '../plan/recording/rolled-recording.ts';
import { isLikelyScan } from '../executor/scan-loops.ts';
import type { RuntimeServices } from '../services.ts';

/** Loops over the rows of tensors, as one kernel or a few. */
export function register(): void {
  extendServices<RuntimeServices>({ loopRolling: { isLikely: isLikelyScan, roll: rollRecording } });
}
