import type { BenchClient } from './bench-client.ts';

export async function showBench(root: HTMLElement, client: BenchClient): Promise<void> {
  const { models } = await client.list();
  root.textContent = models.map(({ name }) => name).join(', ');
}
