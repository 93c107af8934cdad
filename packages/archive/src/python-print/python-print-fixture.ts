import {
  Argument,
  FunctionSchema,
  GraphFunction,
  parseIrWithNames,
  registerOperators,
  TupleType,
  type NamedType,
} from '@cresset/ir';

/** A few of PyTorch's operators: the operators' own package stands above this one. */
const SCHEMAS = `
aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
aten::add.int(int a, int b) -> int
aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)
aten::div.Tensor(Tensor self, Tensor other) -> Tensor
aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::format(str self, ...) -> str
aten::gelu(Tensor self, *, str approximate="none") -> Tensor
aten::__getitem__.t(t[](a) list, int idx) -> t(*)
aten::gt.int(int a, int b) -> bool
aten::len.t(t[] a) -> int
aten::lt.int(int a, int b) -> bool
aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
aten::neg(Tensor self) -> Tensor
aten::relu(Tensor self) -> Tensor
aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten::_unwrap_optional(t(a)? optional) -> t(a)
aten::wait(Future(t) self) -> t
mine::twice(Tensor self) -> Tensor
prim::RaiseException(str msg, str? cls=None) -> ()
prim::unchecked_cast(t x) -> t
`;

export function registerFixtureOperators(): void {
  registerOperators(
    SCHEMAS.trim()
      .split('\n')
      .map((schema) => ({ schema })),
  );
}

/** A function of a graph's text, in which `classes` may occur; values are called as in the text where that is no number. */
export function functionOfIr(text: string, name = 'f', ...classes: readonly NamedType[]): GraphFunction {
  const { graph, values } = parseIrWithNames(text, {
    resolveClass: (each) => classes.find((type) => type.str() === each),
  });
  for (const [each, value] of values) if (!/^\d+$/.test(each)) value.setDebugName(each);
  const args = graph.inputs.map((input) => new Argument(input.debugNameBase, input.type));
  const [result] = graph.outputs;
  const returned = graph.outputs.length === 1 ? result.type : new TupleType(graph.outputs.map(({ type }) => type));
  return new GraphFunction(`__torch__.${name}`, graph).setSchema(
    new FunctionSchema(name, '', args, [new Argument('', returned)]),
  );
}
