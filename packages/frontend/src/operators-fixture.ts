import { registerOperators } from '@cresset/ir';

/** A few of PyTorch's operators, for tests that compile: the operators' own package stands above this one. */
const SCHEMAS = `
aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::add.t(t[] a, t[] b) -> t[]
aten::add.str(str a, str b) -> str
aten::add.int(int a, int b) -> int
aten::add.float(float a, float b) -> float
aten::add.int_float(int a, float b) -> float
aten::add.float_int(float a, int b) -> float
aten::add(Scalar a, Scalar b) -> Scalar
aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::sub.int(int a, int b) -> int
aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
aten::mul.int(int a, int b) -> int
aten::mul.float(float a, float b) -> float
aten::div.Tensor(Tensor self, Tensor other) -> Tensor
aten::div.Scalar(Tensor self, Scalar other) -> Tensor
aten::div.int(int a, int b) -> float
aten::reciprocal(Tensor self) -> Tensor
aten::floor_divide(Tensor self, Tensor other) -> Tensor
aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor
aten::neg(Tensor self) -> Tensor
aten::neg.int(int a) -> int
aten::relu(Tensor self) -> Tensor
aten::relu_(Tensor(a!) self) -> Tensor(a!)
aten::dim(Tensor self) -> int
aten::numpy_T(Tensor(a) self) -> Tensor(a)
aten::matrix_H(Tensor(a) self) -> Tensor(a)
aten::size(Tensor self) -> int[]
aten::size.int(Tensor self, int dim) -> int
aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
aten::lt.int(int a, int b) -> bool
aten::le.Scalar(Tensor self, Scalar other) -> Tensor
aten::le.int(int a, int b) -> bool
aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
aten::gt.int(int a, int b) -> bool
aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
aten::eq.int(int a, int b) -> bool
aten::eq.str(str a, str b) -> bool
aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
aten::ne.int(int a, int b) -> bool
aten::__is__(t1 self, t2 obj) -> bool
aten::__isnot__(t1 self, t2 obj) -> bool
aten::__not__(bool self) -> bool
aten::__and__.bool(bool a, bool b) -> bool
aten::__contains__.int_list(int[] l, int item) -> bool
aten::Bool.Tensor(Tensor a) -> bool
aten::Bool.int(int a) -> bool
aten::Int.Tensor(Tensor a) -> int
aten::Int.float(float a) -> int
aten::Float.Tensor(Tensor a) -> float
aten::Float.int(int a) -> float
aten::IntImplicit(Tensor a) -> int
aten::FloatImplicit(Tensor a) -> float
aten::ScalarImplicit(Tensor a) -> Scalar
aten::str(t elem) -> str
aten::format(str self, ...) -> str
aten::len.t(t[] a) -> int
aten::len.Tensor(Tensor t) -> int
aten::len.str(str s) -> int
aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)
aten::__getitem__.t(t[](a) list, int idx) -> t(*)
aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)
aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)
aten::_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) -> ()
aten::keys.str(Dict(str, t) self) -> str[](*)
aten::list.t(t[] l) -> t[]
aten::dict.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)
aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]
aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor
aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor
aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor
aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::max(Tensor self) -> Tensor
aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)
aten::wait(Future(t) self) -> t
aten::__range_length(int lo, int hi, int step) -> int
aten::__derive_index(int index, int start, int step) -> int
aten::is_scripting() -> bool
prim::dtype(Tensor a) -> int
prim::device(Tensor a) -> Device
prim::min.self_int(int[] self) -> int
prim::RaiseException(str msg, str? cls=None) -> ()
`;

/** Puts the operators into ir's registry. */
export function registerTestOperators(): void {
  registerOperators(
    SCHEMAS.trim()
      .split('\n')
      .map((schema) => ({ schema })),
  );
}
