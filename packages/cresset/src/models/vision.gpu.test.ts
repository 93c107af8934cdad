import { describe, expect, it } from 'vitest';
import { script, tensor, type Tensor } from '../index.ts';

/** torchvision's operators on WebGPU give what they give on the host; that in turn is held against torchvision's own results. */

const programs = `
def nms(boxes, scores, threshold: float):
    return ops.torchvision.nms(boxes, scores, threshold)

def roi_align(x, rois, scale: float, ratio: int, aligned: bool):
    return ops.torchvision.roi_align(x, rois, scale, 7, 5, ratio, aligned)

def ps_roi_align(x, rois, scale: float, ratio: int):
    return ops.torchvision.ps_roi_align(x, rois, scale, 2, 2, ratio)

def roi_pool(x, rois, scale: float):
    return ops.torchvision.roi_pool(x, rois, scale, 7, 5)

def ps_roi_pool(x, rois, scale: float):
    return ops.torchvision.ps_roi_pool(x, rois, scale, 2, 2)

def deform_conv2d(x, weight, offset, mask, bias, groups: int, offset_groups: int, use_mask: bool):
    return ops.torchvision.deform_conv2d(x, weight, offset, mask, bias, 1, 2, 1, 0, 2, 1, groups, offset_groups, use_mask)

def box_iou_rotated(a, b):
    return ops.torchvision.box_iou_rotated(a, b)
`;

type Name = 'nms' | 'roi_align' | 'ps_roi_align' | 'roi_pool' | 'ps_roi_pool' | 'deform_conv2d' | 'box_iou_rotated';
const onGpu = await script<Name>(programs, { device: 'webgpu' });
const onHost = await script<Name>(programs, { device: 'cpu' });

let seed = 5;
/** A number in [0, 1). */
function random(): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return (seed >>> 0) / 2 ** 32;
}

const filled = (sizes: number[], next: (at: number) => number): Tensor =>
  tensor(
    Float32Array.from({ length: sizes.reduce((a, b) => a * b) }, (_, at) => next(at)),
    sizes,
  );

/** Runs a program in both places and compares what comes out, element by element. */
async function compare(name: Name, inputs: (Tensor | number | boolean)[], tolerance = 1e-4): Promise<void> {
  const [got, want] = [await onGpu[name](...inputs), await onHost[name](...inputs)].map(
    (results) => (Array.isArray(results) ? results : [results]) as Tensor[],
  );
  expect(got.map(({ shape, dtype }) => [shape, dtype])).toEqual(want.map(({ shape, dtype }) => [shape, dtype]));
  want.forEach(({ data }, result) => {
    const wrong = Array.from(data, Number).findIndex((value, at) => {
      const other = Number(got[result].data[at]);
      return !(Math.abs(value - other) <= tolerance * (1 + Math.abs(value)) || Object.is(value, other));
    });
    expect(wrong, `${name}, result ${result}`).toBe(-1);
  });
  const { operators } = await onGpu[name].explain();
  expect(operators.find((operator) => operator.name === `torchvision::${name}`)?.placement).toBe('device');
}

/** Corners of boxes: of whole numbers many overlap by exactly a half or a third. */
const boxes = (count: number, whole: boolean, size: number): Tensor => {
  const shape = (value: number): number => (whole ? Math.floor(value) : value);
  const corners = Array.from({ length: count }, () => {
    const [x, y] = [shape(random() * size), shape(random() * size)];
    return [x, y, x + shape(random() * 8), y + shape(random() * 8)];
  }).flat();
  return filled([count, 4], (at) => corners[at]);
};

describe('nms', () => {
  it.each([1 / 3, 0.5, 0.25, 0.7, 0, -1])('of boxes at the threshold %d', async (threshold) => {
    const scores = filled([1400], () => Math.floor(random() * 300) / 300);
    await compare('nms', [boxes(1400, true, 30), scores, threshold]);
    await compare('nms', [boxes(1400, false, 20), scores, threshold]);
  });
});

/** Some regions lie half outside, some are turned inside out. */
const regions = (count: number, images: number, size: number): Tensor => {
  const rows = Array.from({ length: count }, () => {
    const [x, y] = [random() * size - 2, random() * size - 2];
    return [Math.floor(random() * images), x, y, x + random() * size - 1, y + random() * size - 1];
  }).flat();
  return filled([count, 5], (at) => rows[at]);
};

describe('regions', () => {
  const [x, rois] = [filled([2, 12, 17, 21], () => random() - 0.5), regions(40, 2, 40)];
  it.each([2, 3, -1])('are averaged with %d samples', async (ratio) => {
    await compare('roi_align', [x, rois, 0.5, ratio, true]);
    await compare('roi_align', [x, rois, 1, ratio, false]);
    await compare('ps_roi_align', [x, rois, 0.5, ratio]);
  });

  it('are pooled', async () => {
    await compare('roi_pool', [x, rois, 0.5]);
    await compare('ps_roi_pool', [x, rois, 1]);
  });

  it('of images that there are not are an error', async () => {
    const wrong = tensor(Float32Array.of(2, 0, 0, 5, 5), [1, 5]);
    await expect(onGpu.roi_align(filled([2, 12, 30, 21], random), wrong, 1, 2, true)).rejects.toThrow('out of bounds');
  });
});

describe('deform_conv2d', () => {
  it.each([
    [1, 1, true],
    [2, 2, true],
    [2, 4, false],
  ])('of %d groups of filters and %d of offsets, mask %s', async (groups, offsetGroups, masked) => {
    const offset = filled([3, offsetGroups * 18, 14, 9], () => random() * 6 - 3);
    const mask = masked ? filled([3, offsetGroups * 9, 14, 9], random) : filled([3, 1], () => 0);
    const x = filled([3, 8, 16, 19], () => random() - 0.5);
    const weight = filled([10, 8 / groups, 3, 3], () => random() - 0.5);
    await compare('deform_conv2d', [x, weight, offset, mask, filled([10], random), groups, offsetGroups, masked]);
  });
});

describe('box_iou_rotated', () => {
  it('of boxes alike and not', async () => {
    const turned = (count: number): Tensor =>
      filled([count, 5], (at) => (at % 5 === 4 ? Math.floor(random() * 16) * 45 : random() * 8 + 0.2));
    const first = turned(80);
    await compare('box_iou_rotated', [first, turned(70)], 1e-3);
    await compare('box_iou_rotated', [first, first], 1e-3);
  });
});
