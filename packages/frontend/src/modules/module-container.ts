import { BoolType, ClassType, NoneType, Source, type CompilationUnit } from '@cresset/ir';
import { declareFunctions } from '../define.ts';
import { ModuleSelf } from './module-value.ts';
import { parseProgram } from '../parser/parser.ts';
import type { Resolver } from '../resolver.ts';
import type { Def } from '../parser/tree.ts';

/** What PyTorch compiles of a Sequential. */
const SEQUENTIAL = `
def forward(self, input):
    for module in self:
        input = module(input)
    return input
`;

/** A class for a module, with the attributes that every `nn.Module` has; its name is mangled where another has it. */
export function newModuleClass(unit: CompilationUnit, qualifiedName: string): ClassType {
  const name = unit.getType(qualifiedName) === undefined ? qualifiedName : unit.mangle(qualifiedName);
  const type = new ClassType(name, { isModule: true, compilationUnit: unit });
  unit.registerType(type);
  type.addAttribute('training', BoolType.get());
  type.addAttribute('_is_full_backward_hook', NoneType.get());
  return type;
}

/** A class for a container of modules, which holds what it is made for and nothing else. */
export function newContainerClass(
  unit: CompilationUnit,
  kind: 'ModuleList' | 'ModuleDict' | 'Sequential',
  modules: readonly (readonly [name: string, type: ClassType])[],
): ClassType {
  const type = newModuleClass(unit, `__torch__.torch.nn.modules.container.${kind}`);
  for (const [name, moduleType] of modules) type.addAttribute(name, moduleType);
  const length = `def __len__(self) -> int:\n    return ${modules.length}\n`;
  const source = new Source(kind === 'Sequential' ? length + SEQUENTIAL : length, `<${kind}>`);
  const resolver: Resolver = { resolveValue: () => undefined, resolveType: () => undefined };
  const options = { prefix: type.qualifiedName, resolver, self: new ModuleSelf(type) };
  declareFunctions(unit, parseProgram(source, 'python') as readonly Def[], options).forEach((fn) => fn.ensureDefined());
  return type;
}
