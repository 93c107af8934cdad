import { CressetError } from '@cresset/ir';
import { requestGpu } from '@cresset/webgpu';

/** Why there is no GPU to compute on. */
export type UnavailableReason =
  /** The browser, or Node, has no WebGPU. */
  | 'no-webgpu-api'
  /** WebGPU is hidden from pages that were not loaded over https or from localhost. */
  | 'insecure-context'
  /** WebGPU is there, but no GPU it can use. */
  | 'no-adapter'
  /** The adapter gave no device. */
  | 'no-device';

/** What {@link init} finds. */
export type Availability =
  | {
      readonly available: true;
      /** The adapter's name, as far as the browser tells it. */
      readonly description: string;
      /** Whether the adapter is a program and no GPU: right, and slow. */
      readonly software: boolean;
    }
  | {
      readonly available: false;
      readonly reason: UnavailableReason;
      /** What is missing, in a sentence. */
      readonly message: string;
      /** What can be done about it. */
      readonly help: string;
    };

const REASONS: Readonly<Record<string, UnavailableReason>> = {
  WEBGPU_NO_API: 'no-webgpu-api',
  WEBGPU_INSECURE_CONTEXT: 'insecure-context',
  WEBGPU_NO_ADAPTER: 'no-adapter',
  WEBGPU_NO_DEVICE: 'no-device',
};

const HELP: Readonly<Record<UnavailableReason, string>> = {
  'no-webgpu-api':
    'Use a current Chrome, Edge, Safari or Firefox (https://caniuse.com/webgpu). Models run on the CPU meanwhile, and slower.',
  'insecure-context': 'Serve the page over https, or from localhost while developing. Models run on the CPU meanwhile.',
  'no-adapter':
    'Switch hardware acceleration on in the browser and update the graphics driver; chrome://gpu says what is blocked. Models run on the CPU meanwhile.',
  'no-device': 'Close other pages that use the GPU and load the page again. Models run on the CPU meanwhile.',
};

/** Finds out whether there is a GPU to compute on, by asking for a device and giving it back. Never throws. */
export async function findAvailability(): Promise<Availability> {
  try {
    const { device, description, capabilities } = await requestGpu();
    device.destroy();
    return { available: true, description, software: capabilities.software };
  } catch (error) {
    const code = error instanceof CressetError ? error.code : '';
    const reason = REASONS[code] ?? 'no-device';
    return {
      available: false,
      reason,
      message: error instanceof Error ? error.message : String(error),
      help: HELP[reason],
    };
  }
}
