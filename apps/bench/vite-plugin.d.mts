import type { Plugin } from 'vite';

export function benchPlugin(): Plugin;
