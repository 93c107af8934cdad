import { lint, parseIr } from '@cresset/ir';
import { canonicalize, namedPasses } from '@cresset/passes';
import { beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { passEnvironment } from './pass-environment.ts';

beforeAll(registerAllParts);

interface Answer {
  readonly pass: string;
  readonly says: string;
  readonly before: string;
  /** What PyTorch 2.13 made of it, canonicalised. */
  readonly after: string;
  /** What its pass returned, where that is anything. */
  readonly returned?: boolean;
}

const answers: readonly Answer[] = [
  {
    pass: 'dce',
    says: 'a write to a list that nobody looks at stays',
    before: `graph(%x : Tensor):
  %l : Tensor[] = prim::ListConstruct(%x)
  %m : Tensor[] = aten::append(%l, %x)
  return (%x)
`,
    after: `graph(%x : Tensor):
  %1 : Tensor[] = prim::ListConstruct(%x)
  %2 : Tensor[] = aten::append(%1, %x)
  return (%x)
`,
  },
  {
    pass: 'canonicalize_graph_fuser_ops',
    says: 'a write that nobody sees goes',
    before: `graph(%x : Tensor):
  %r : Tensor = aten::relu(%x)
  %s : Tensor = aten::sigmoid_(%r)
  return (%x)
`,
    after: `graph(%x : Tensor):
  return (%x)
`,
  },
  {
    pass: 'constant_propagation',
    says: 'a list that is read before it is written to does not keep the write',
    before: `graph(%x : Tensor, %c : bool):
  %no : bool = prim::Constant[value=0]()
  %l : Tensor[] = prim::ListConstruct(%x)
  %n : int = aten::len(%l)
  %y : int = prim::If(%no)
    block0():
      %z : int = prim::Constant[value=3]()
      -> (%z)
    block1():
      -> (%n)
  %m : Tensor[] = aten::append(%l, %x)
  return (%y)
`,
    after: `graph(%x : Tensor,
      %c : bool):
  %2 : Tensor[] = prim::ListConstruct(%x)
  %3 : int = aten::len(%2)
  return (%3)
`,
    returned: true,
  },
  {
    pass: 'constant_propagation',
    says: 'a variable of a loop stays that is set to where it began',
    before: `graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %y : Tensor, %z : Tensor = prim::Loop(%n, %t, %x, %x)
    block0(%i : int, %a : Tensor, %b : Tensor):
      -> (%t, %x, %b)
  return (%y, %z)
`,
    after: `graph(%x : Tensor,
      %n : int):
  %2 : bool = prim::Constant[value=1]()
  %3 : Tensor = prim::Loop(%n, %2, %x)
    block0(%i : int, %a : Tensor):
      -> (%2, %x)
  return (%3, %x)
`,
    returned: true,
  },
  {
    pass: 'decompose_ops',
    says: 'what is within a branch does not count',
    before: `graph(%x : Tensor, %c : bool):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::addmm(%x, %x, %x, %1, %1)
      %u : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
`,
    after: `graph(%x : Tensor,
      %c : bool):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = prim::If(%c)
    block0():
      %4 : int = prim::Constant[value=1]()
      %5 : Tensor = aten::mm(%x, %x)
      %6 : Tensor = aten::add(%x, %5, %4)
      %7 : Tensor = aten::relu(%x)
      -> (%6)
    block1():
      -> (%x)
  return (%3)
`,
  },
  {
    pass: 'batch_mm',
    says: 'a graph with a product is swept',
    before: `graph(%x : Tensor):
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::mm(%x, %x)
  %u : Tensor = aten::relu_(%x)
  %b : bool = aten::__isnot__(%x, %none)
  return (%b)
`,
    after: `graph(%x : Tensor):
  %1 : Tensor = aten::relu_(%x)
  %2 : bool = prim::Constant[value=1]()
  return (%2)
`,
  },
  {
    pass: 'batch_mm',
    says: 'a graph without is not',
    before: `graph(%x : Tensor):
  %none : NoneType = prim::Constant()
  %u : Tensor = aten::relu(%x)
  %b : bool = aten::__isnot__(%x, %none)
  return (%b)
`,
    after: `graph(%x : Tensor):
  %1 : NoneType = prim::Constant()
  %2 : Tensor = aten::relu(%x)
  %3 : bool = aten::__isnot__(%x, %1)
  return (%3)
`,
  },
  {
    pass: 'remove_inplace_ops',
    says: 'masks too',
    before: `graph(%x : Tensor, %m : Tensor):
  %1 : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::masked_fill_(%x, %m, %1)
  %b : Tensor = aten::relu(%x)
  return (%b)
`,
    after: `graph(%x : Tensor,
      %m : Tensor):
  %2 : float = prim::Constant[value=0.5]()
  %3 : Tensor = aten::masked_fill(%x, %m, %2)
  %4 : Tensor = aten::relu(%3)
  return (%4)
`,
  },
  {
    pass: 'remove_mutation',
    says: 'lists do not count',
    before: `graph(%x : Tensor):
  %l : Tensor[] = prim::ListConstruct(%x)
  %m : Tensor[] = aten::append(%l, %x)
  return (%l)
`,
    after: `graph(%x : Tensor):
  %1 : Tensor[] = prim::ListConstruct(%x, %x)
  return (%1)
`,
    returned: false,
  },
  {
    pass: 'propagate_device',
    says: 'a loop keeps the device that each trip keeps',
    before: `graph(%x : Float(2, device=cpu), %y : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %z : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %c : Tensor):
      %q : Tensor = aten::relu(%c)
      -> (%t, %q)
  return (%z)
`,
    after: `graph(%x : Float(2, device=cpu),
      %y : Tensor,
      %n : int):
  %3 : bool = prim::Constant[value=1]()
  %4 : Tensor(device=cpu) = prim::Loop(%n, %3, %x)
    block0(%i : int, %c : Tensor(device=cpu)):
      %7 : Tensor(device=cpu) = aten::relu(%c)
      -> (%3, %7)
  return (%4)
`,
    returned: true,
  },
  {
    pass: 'propagate_device',
    says: 'a loop loses the device that a trip loses',
    before: `graph(%x : Float(2, device=cpu), %y : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %z : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %c : Tensor):
      %q : Tensor = prim::unchecked_cast(%c)
      -> (%t, %q)
  return (%z)
`,
    after: `graph(%x : Float(2, device=cpu),
      %y : Tensor,
      %n : int):
  %3 : bool = prim::Constant[value=1]()
  %4 : Tensor = prim::Loop(%n, %3, %x)
    block0(%i : int, %c : Tensor):
      %7 : Tensor = prim::unchecked_cast(%c)
      -> (%3, %7)
  return (%4)
`,
    returned: false,
  },
  {
    pass: 'propagate_device',
    says: 'types of branches do not count',
    before: `graph(%x : Float(2, device=cpu), %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%x)
  return (%y)
`,
    after: `graph(%x : Float(2, device=cpu),
      %c : bool):
  %2 : Float(2, device=cpu) = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%x)
  return (%2)
`,
    returned: false,
  },
];

it.each(answers)('$pass: $says', ({ pass, before, after, returned }) => {
  const graph = parseIr(before);
  const result = namedPasses(passEnvironment)[pass](graph);
  lint(graph);
  expect(renumbered(String(canonicalize(graph)))).toBe(renumbered(after));
  if (returned !== undefined) expect(result).toBe(returned);
});

/** Values named in the order in which they come. */
function renumbered(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/%[\w.]+/g, (name) => {
    if (!names.has(name)) names.set(name, `%${names.size}`);
    return names.get(name)!;
  });
}
