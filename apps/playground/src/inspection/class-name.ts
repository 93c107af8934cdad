/** A class without the folders of its name: `Conv2d` for `__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d`. */
export function shortName(className: string): string {
  return className.slice(className.lastIndexOf('.') + 1);
}
