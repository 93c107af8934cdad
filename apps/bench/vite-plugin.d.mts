import type { Plugin } from 'vite';

/** Whole models with PyTorch's answers, where they lie beside this repository. */
export const modelFolder: string;
export function modelNames(): string[];
export function benchPlugin(): Plugin;
