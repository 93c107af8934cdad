export type Lane = 'swiftshader' | 'llvmpipe' | 'hardware';
export const lane: Lane;
export const browserPath: string;
export const launchOptions: { args: string[]; executablePath?: string };
export const launchOptionsWithoutGpu: { args: string[]; executablePath?: string };
export const denoPath: string;
export const firefoxPath: string;
export const firefoxPreferences: Record<string, boolean | string>;
export const vulkanEnvironment: Record<string, string>;
