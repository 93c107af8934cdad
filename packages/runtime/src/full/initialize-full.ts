import { readLegacyModule, setLegacyReader } from '@cresset/archive';
import { registerAllOperators } from '@cresset/operators';

/** Makes a host of the full edition: all operators, and files of all ages. To be called before it starts. */
export function initializeFullRuntime(): void {
  registerAllOperators();
  setLegacyReader(readLegacyModule);
}
