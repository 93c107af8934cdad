/** What the GPU calls itself, as far as it is told. */
export async function adapterName(): Promise<string> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'no GPU';
  const { vendor, architecture, device, description } = adapter.info;
  return description || [vendor, architecture, device].filter(Boolean).join(' ') || 'a GPU without a name';
}
