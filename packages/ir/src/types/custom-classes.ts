import type { ClassType } from './named-types.ts';

/** The namespace of classes that PyTorch has in C++. */
const NAMESPACE = '__torch__.torch.classes.';

const classes = new Map<string, ClassType>();

/** Whether a class is one of C++: it is printed nowhere, and has to be there where a file is loaded. */
export function isCustomClass(qualifiedName: string): boolean {
  return qualifiedName.startsWith(NAMESPACE);
}

/** Makes a class known that stands for one of PyTorch's in C++ (PyTorch: registerCustomClass). */
export function registerCustomClass(type: ClassType): void {
  classes.set(type.qualifiedName, type);
}

/** The class of that name, where it is known (PyTorch: getCustomClass). */
export function findCustomClass(qualifiedName: string): ClassType | undefined {
  return classes.get(qualifiedName);
}
