import { hint, settle, symEq, symFloorDiv, symMod, symMul, type SymInt } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  extentOf,
  LinearForms,
  Rewriter,
  substitute,
  symExtentOf,
  symIndexValue,
  walk,
  type AxisExpr,
  type Expr,
  type LinearForm,
  type NormalContraction,
} from '@cresset/tensorexpr';

/** How windows go along one dimension of an image: the one that follows is `stride` further, and elements of one are `dilation` apart. */
interface Course {
  readonly tap: AxisExpr | null;
  readonly stride: number;
  readonly dilation: number;
  /** The position in the image that the first window begins at: below 0 where taps go backwards. */
  readonly first: number;
  /** Loop over positions that differ by less than the stride; null where there is but one of them. */
  readonly phase: AxisExpr | null;
}

/**
 * The right side of a convolution as an image, of which columns are windows: each element of the image is worked out once, however many windows
 * it is in. Every phase of a stride is a plane of its own, so that windows beside each other are elements beside each other.
 */
export interface Windows {
  /** Windows in a line. */
  readonly width: SymInt;
  /** Lines of windows. */
  readonly lines: SymInt;
  /** Whether elements beyond the border are compared for, which each window would do for itself. */
  readonly hasBorder: boolean;
  /** Loops over planes, the outermost first. */
  readonly planes: readonly AxisExpr[];
  readonly line: AxisExpr;
  readonly column: AxisExpr;
  /** An element of the image, by planes, line and column. */
  readonly element: Expr;
  /** Lines and columns that windows reach over beside their own. */
  readonly reach: { readonly lines: number; readonly columns: number };
  /** Where elements of a window lie, in the order of the loops of the sum: in floats, of an image with planes of so many lines. */
  table(planeLines: number, pitch: number): Int32Array;
  /** Structure beyond that of the kernel. */
  readonly key: string;
}

/** Null where a right side is no windows on an image. */
export function windowsOf(kernel: NormalContraction): Windows | null {
  const found = digitsOf(kernel);
  if (!found) return null;
  const { line, column, right } = found;
  const forms = indexForms(right);
  if (!forms) return null;
  const hasBorder = forms.compared.length > 0;
  const course = hasBorder ? courseOf : courseWithoutBorder;
  const [down, along] = [
    course(kernel, forms, line, column, found.lines),
    course(kernel, forms, column, line, found.width),
  ];
  if (!down || !along || (!down.tap && !along.tap)) return null;
  const { width, lines } = found;
  const courses = [down, along] as const;
  const channels = kernel.k.filter((each) => courses.every(({ tap }) => tap !== each));
  const phases = courses.flatMap(({ phase }) => (phase ? [phase] : []));
  const replacements = new Map<Expr, Expr>();
  [line, column].forEach((each, at) => {
    const { tap, first, phase } = courses[at];
    if (first !== 0) replacements.set(each, binary('add', each, constant('i32', first)));
    if (tap) replacements.set(tap, phase ?? constant('i32', 0));
  });
  const reachOf = (course: Course): number => {
    const shifts = tapsOf(course).map(({ shift }) => shift);
    return Math.max(...shifts) - Math.min(...shifts);
  };
  const places = courses.map(tapsOf);
  return {
    width,
    lines,
    hasBorder,
    planes: [...channels, ...phases],
    line,
    column,
    element: cast('float', substitute(right, replacements)),
    reach: { lines: reachOf(down), columns: reachOf(along) },
    table: (planeLines, pitch) => tableOf(kernel.k, courses, places, channels, planeLines, pitch),
    key: courses
      .map(({ tap, first, phase }) => `w${tap ? kernel.k.indexOf(tap) : ''},${first},${phase ? extentOf(phase) : 1}`)
      .join(),
  };
}

/** The right side by line and column of an image of windows. */
function digitsOf({ n, right }: NormalContraction): {
  readonly width: SymInt;
  readonly lines: SymInt;
  readonly line: AxisExpr;
  readonly column: AxisExpr;
  readonly right: Expr;
} | null {
  const bases = new Set<Expr>();
  walk([right], (expr) => {
    if (isDigit(expr, n)) bases.add(expr.y);
  });
  const widths = new Set([...bases].map(symIndexValue));
  const [base] = bases;
  const width = base ? symIndexValue(base) : symExtentOf(n);
  if (width === null || widths.size > 1 || !symEq(symMod(symExtentOf(n), width), 0)) return null;
  const lines = symFloorDiv(symExtentOf(n), width);
  const line = axis('line', constant('i32', 0));
  const column = axis('column', constant('i32', 0));
  const flat = base ? binary('add', binary('mul', line, base), column) : column;
  const rewriter = new Rewriter((expr) => {
    if (expr === n) return flat;
    return isDigit(expr, n) ? (expr.fn === 'fmod' ? column : line) : null;
  });
  return { width, lines, line, column, right: rewriter.rewrite(right) };
}

function isDigit(expr: Expr, n: AxisExpr): expr is Extract<Expr, { kind: 'binary' }> {
  return expr.kind === 'binary' && expr.x === n && (expr.fn === 'truncdiv' || expr.fn === 'fmod');
}

/** Linear forms of all indices of a right side, those that are compared apart; null where one is not linear. */
function indexForms(right: Expr): { readonly compared: LinearForm[]; readonly all: LinearForm[] } | null {
  const linear = new LinearForms();
  const [compared, all]: [LinearForm[], LinearForm[]] = [[], []];
  walk([right], (expr) => {
    const isCompared = expr.type === 'bool' && expr.kind === 'binary' && expr.x.type === 'i32';
    if (isCompared) compared.push(linear.of(expr.x), linear.of(expr.y));
    if (expr.kind === 'load') all.push(linear.of(expr.offset));
    // Numbers that are made of indices in other ways, or have 64 bits, may be anything.
    if (expr.kind === 'cast' && expr.x.type === 'i32' && expr.x.kind !== 'load')
      all.push({ ...linear.of(expr.x), rest: expr });
    if (expr.type === 'i64') all.push({ base: 0, terms: new Map(), rest: expr });
  });
  all.push(...compared);
  return all.some(({ rest }) => rest) ? null : { compared, all };
}

/** How windows go along a dimension; null where indices do not agree about that. */
function courseOf(
  { k }: NormalContraction,
  { compared, all }: { readonly compared: readonly LinearForm[]; readonly all: readonly LinearForm[] },
  dimension: AxisExpr,
  other: AxisExpr,
): Course | null {
  const own = compared.filter(({ terms }) => terms.has(dimension));
  if (own.some(({ terms }) => terms.has(other))) return null;
  const taps = k.filter((each) => own.some(({ terms }) => terms.has(each)));
  if (taps.length === 0) return { tap: null, stride: 1, dilation: 0, first: 0, phase: null };
  const [tap] = taps;
  const stride = settle(stepOf(own[0], dimension));
  const dilation = settle(stepOf(own[0], tap));
  if (taps.length > 1 || stride < 1 || !agree(all, tap, dimension, stride, dilation)) return null;
  if (stride > 1 && dilation !== 1) return null;
  const first = Math.min(0, (extentOf(tap) - 1) * dilation);
  const phases = Math.min(stride, extentOf(tap));
  return { tap, stride, dilation, first, phase: phases > 1 ? axis('phase', constant('i32', phases)) : null };
}

/** How far an index goes on with each step along a loop. */
const stepOf = ({ terms }: LinearForm, loop: AxisExpr): SymInt => terms.get(loop) ?? 0;

/** Whether all indices go along both loops in the same proportion. */
const agree = (forms: readonly LinearForm[], tap: AxisExpr, dimension: AxisExpr, stride: number, dilation: number) =>
  forms.every((form) => symEq(symMul(stepOf(form, tap), stride), symMul(stepOf(form, dimension), dilation)));

/**
 * As `courseOf`, where no border is compared with: windows that follow each other have elements in common. Of the loops of the sum the one is along
 * the dimension that goes by the fewest of its places.
 */
function courseWithoutBorder(
  { k }: NormalContraction,
  { all }: { readonly all: readonly LinearForm[] },
  dimension: AxisExpr,
  _other: AxisExpr,
  windows: SymInt,
): Course | null {
  const none: Course = { tap: null, stride: 1, dilation: 0, first: 0, phase: null };
  const own = all.filter(({ terms }) => terms.has(dimension));
  if (own.length === 0) return none;
  // That windows are not taken for an image is right as well: nothing is kept of what that goes by.
  const unit = hint(stepOf(own[0], dimension));
  const courses = k.flatMap((tap): Course[] => {
    const step = hint(stepOf(own[0], tap));
    if (unit < 1 || step < 1) return [];
    const common = commonDivisor(unit, step);
    const [stride, dilation] = [unit / common, step / common];
    const reach = (hint(symExtentOf(tap)) - 1) * dilation;
    if (reach < stride || reach >= hint(windows) * stride || (stride > 1 && dilation !== 1)) return [];
    if (!agree(all, tap, dimension, stride, dilation)) return [];
    const phases = Math.min(stride, extentOf(tap));
    return [{ tap, stride, dilation, first: 0, phase: phases > 1 ? axis('phase', constant('i32', phases)) : null }];
  });
  return courses.toSorted((a, b) => a.stride * a.dilation - b.stride * b.dilation)[0] ?? none;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** For each element of a window along a dimension, its phase and by how many places it is further than the first. */
function tapsOf({ tap, stride, dilation, first }: Course): { readonly phase: number; readonly shift: number }[] {
  return Array.from({ length: tap ? extentOf(tap) : 1 }, (_, at) => {
    const place = at * dilation - first;
    return { phase: place % stride, shift: Math.floor(place / stride) };
  });
}

function tableOf(
  loops: readonly AxisExpr[],
  [down, along]: readonly [Course, Course],
  [rows, columns]: readonly (readonly { readonly phase: number; readonly shift: number }[])[],
  channels: readonly AxisExpr[],
  planeLines: number,
  pitch: number,
): Int32Array {
  const plane = planeLines * pitch;
  const phasesAlong = along.phase ? extentOf(along.phase) : 1;
  const phases = phasesAlong * (down.phase ? extentOf(down.phase) : 1);
  let table = [0];
  for (const loop of loops) {
    const [row, column] = [down.tap === loop, along.tap === loop];
    const above = channels.slice(channels.indexOf(loop) + 1).reduce((product, each) => product * extentOf(each), 1);
    const places = Array.from({ length: extentOf(loop) }, (_, at) => {
      if (row) return rows[at].phase * phasesAlong * plane + rows[at].shift * pitch;
      if (column) return columns[at].phase * plane + columns[at].shift;
      return at * above * phases * plane;
    });
    table = table.flatMap((start) => places.map((place) => start + place));
  }
  return Int32Array.from(table);
}
