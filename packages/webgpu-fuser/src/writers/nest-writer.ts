import {
  axis,
  expressionsOf,
  reductionsIn,
  splitStores,
  type AxisExpr,
  type Expr,
  type LoopNest,
  type PointSchedule,
  type RowSchedule,
} from '@cresset/tensorexpr';
import { Scope } from '../scope.ts';
import type { Cooperation, KernelCode, ShaderWriter } from '../shader-writer.ts';
import { wgslTypes } from '../wgsl-type.ts';
import { groupNumber, threadNumber } from './grid-numbers.ts';

function announceNest(writer: ShaderWriter, nest: LoopNest): void {
  writer.announce(nest.stores.flatMap(expressionsOf));
}

/** A nest whose points are dealt out to threads. */
export function writePointNest(
  writer: ShaderWriter,
  nest: LoopNest,
  schedule: PointSchedule,
  wide: boolean,
): KernelCode {
  announceNest(writer, nest);
  const body = new Scope(null, '  ');
  const { workgroupSize, pointsPerThread, words, along } = schedule;
  if (along !== null) return writeStretches(writer, nest, nest.axes[along], schedule, wide);
  const total = writer.extentsProduct(nest.axes, body);
  const isOfPoints = words.elements > 1 || pointsPerThread === 1;
  const builtins = isOfPoints ? threadBuiltins : groupBuiltins;
  if (words.elements > 1) {
    writeWords(writer, nest, schedule, threadNumber(workgroupSize, wide), body);
  } else if (pointsPerThread === 1) {
    body.line(`let point = i32(${threadNumber(workgroupSize, wide)});`);
    body.line(`if (point >= ${total}) { return; }`);
    writer.unflatten(nest.axes, 'point', body);
    writePoint(writer, nest, body);
  } else {
    // Threads of a workgroup go through a stretch of points side by side.
    const stretch = workgroupSize * pointsPerThread;
    body.line(`let first = i32(${groupNumber(wide)} * ${stretch}u);`);
    body.line(`let end = min(first + ${stretch}, ${total});`);
    const inner = body.open();
    body.line('let start = first + i32(lane);');
    const steps = writer.unflattenInSteps(nest.axes, 'start', workgroupSize, body, inner);
    writePoint(writer, nest, inner);
    for (const step of steps) inner.line(step);
    body.close(`for (var point = start; point < end; point += ${workgroupSize})`, inner);
  }
  return { builtins, workgroupSize, body };
}

/** Points beside each other, of which as many as a word has elements are stored at a time. */
function writeWords(
  writer: ShaderWriter,
  nest: LoopNest,
  { words: { elements, stores }, pointsPerThread }: PointSchedule,
  thread: string,
  body: Scope,
): void {
  body.line(`let first = i32(${thread}) * ${pointsPerThread};`);
  body.line(`let end = min(first + ${pointsPerThread}, ${writer.extentsProduct(nest.axes, body)});`);
  const ofWord = body.open();
  const ofPoint = ofWord.open();
  const isDivided = nest.axes.length > 1;
  const steps = isDivided ? writer.unflattenInSteps(nest.axes, 'first', 1, body, ofPoint) : [];
  if (!isDivided) writer.unflatten(nest.axes, 'point', ofPoint);
  const whole = nest.stores.filter((_, at) => stores[at]).map((store) => ({ store, word: writer.fresh('word') }));
  for (const { word } of whole) ofWord.line(`var ${word} = 0u;`);
  const place = `${32 / elements}u * u32(point & ${elements - 1})`;
  writer.stores(
    nest.stores,
    ofPoint,
    new Map(whole.map(({ store, word }) => [store, (bits) => `${word} |= ${bits} << (${place});`])),
  );
  for (const step of steps) ofPoint.line(step);
  ofWord.close(`for (var point = first_of_word; point < min(first_of_word + ${elements}, end); point++)`, ofPoint);
  for (const { store, word } of whole) writer.storeWord(store, word, 'first_of_word', ofWord);
  body.close(`for (var first_of_word = first; first_of_word < end; first_of_word += ${elements})`, ofWord);
}

const threadBuiltins = ['@builtin(global_invocation_id) thread: vec3<u32>'];
const groupBuiltins = ['@builtin(workgroup_id) group: vec3<u32>', '@builtin(local_invocation_index) lane: u32'];

/**
 * A nest whose threads each go through a stretch of one axis, and are beside each other along the others. Along the last axis the threads of a workgroup go side by side
 * instead, and have the same point of the others.
 */
function writeStretches(
  writer: ShaderWriter,
  nest: LoopNest,
  along: AxisExpr,
  { workgroupSize, pointsPerThread }: PointSchedule,
  wide: boolean,
): KernelCode {
  const body = new Scope(null, '  ');
  const others = nest.axes.filter((own) => own !== along);
  const isShared = along === nest.axes.at(-1);
  const step = isShared ? workgroupSize : 1;
  const length = pointsPerThread * step;
  const extent = writer.value(along.extent, body);
  const builtins = isShared ? groupBuiltins : threadBuiltins;
  body.line(`let stretches = (${extent} + ${length - 1}) / ${length};`);
  body.line(`let point = i32(${isShared ? groupNumber(wide) : threadNumber(workgroupSize, wide)});`);
  body.line(
    `if (point >= ${[...others.map((own) => writer.value(own.extent, body)), 'stretches'].join(' * ')}) { return; }`,
  );
  const stretch = axis('stretch', along.extent);
  writer.unflatten([stretch, ...others], 'point', body);
  body.line(`let first = ${body.nameOf(stretch)} * ${length};`);
  body.line(`let end = min(first + ${length}, ${extent});`);
  const inner = body.open();
  const name = writer.axisName(along);
  inner.bind(along, name);
  writePoint(writer, nest, inner);
  const [start, next] = isShared ? ['first + i32(lane)', `${name} += ${step}`] : ['first', `${name}++`];
  body.close(`for (var ${name} = ${start}; ${name} < end; ${next})`, inner);
  return { builtins, workgroupSize, body };
}

function writePoint(writer: ShaderWriter, nest: LoopNest, scope: Scope): void {
  const { once, inner } = splitStores(nest);
  writer.stores(once, scope);
  if (inner.length > 0) writer.loops(nest.innerAxes, scope, (innermost) => writer.stores(inner, innermost));
}

/** Has loops come in the order in which they need each other, so that what one keeps the next ones find. */
function settleReductions(writer: ShaderWriter, roots: readonly Expr[], scope: Scope): void {
  for (const reduction of reductionsIn(roots)) {
    settleReductions(writer, [reduction.body], scope);
    writer.settle(reduction, scope);
  }
}

/**
 * A nest with one workgroup for each point of its axes.
 *
 * @param subgroupFunction writes reductions of subgroups; null where there are none
 */
export function writeRowNest(
  writer: ShaderWriter,
  { kernel: nest, kept: values }: { readonly kernel: LoopNest; readonly kept: readonly Expr[] },
  schedule: RowSchedule,
  wide: boolean,
  subgroupFunction: Cooperation['subgroupFunction'],
): KernelCode {
  announceNest(writer, nest);
  const body = new Scope(null, '  ');
  body.line('let lane = i32(thread);');
  body.line(`let row = i32(${groupNumber(wide)});`);
  const total = writer.extentsProduct(nest.axes, body);
  body.line(`if (row >= ${total}) { return; }`);
  writer.unflatten(nest.axes, 'row', body);
  const { workgroupSize, steps } = schedule;
  const kept = values.map((value) => ({ value, name: writer.fresh('kept') }));
  for (const { value, name } of kept) body.line(`var ${name}: array<${wgslTypes[value.type]}, ${steps}>;`);
  writer.cooperation = { workgroupSize, scope: body, steps, kept, subgroupFunction };
  if (kept.length > 0) settleReductions(writer, nest.stores.flatMap(expressionsOf), body);
  const { once, inner } = splitStores(nest);
  if (once.length > 0) {
    // The values depend on nothing in the block: they are worked out before it, by all threads in step.
    const first = body.open();
    writer.stores(once, first);
    body.close('if (lane == 0)', first);
  }
  if (inner.length > 0) {
    writer.sharedLoop(nest.innerAxes, body, schedule.workgroupSize, (scope) => writer.stores(inner, scope));
  }
  const builtins = ['@builtin(local_invocation_index) thread: u32', '@builtin(workgroup_id) group: vec3<u32>'];
  if (subgroupFunction) builtins.push('@builtin(subgroup_id) subgroup: u32', '@builtin(num_subgroups) subgroups: u32');
  return { builtins, workgroupSize: schedule.workgroupSize, body };
}
