import { readLegacyModule, setLegacyReader } from '@cresset/archive';

/** Files of PyTorch 1.0 to 1.3. */
export function register(): void {
  setLegacyReader(readLegacyModule);
}
