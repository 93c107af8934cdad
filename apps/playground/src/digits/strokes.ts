/** A point of a drawing; both coordinates run from 0 to 1, y downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One movement of the pen. */
export type Stroke = Point[];

/** Width of the pen, as a part of the drawing's side: two pixels of the 28 that the model gets. */
const penWidth = 2.2 / 28;

/** Draws strokes over a square of `side` pixels. */
export function drawStrokes(context: CanvasRenderingContext2D, strokes: readonly Stroke[], side: number): void {
  context.lineWidth = penWidth * side;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  for (const stroke of strokes) {
    context.beginPath();
    // A line to where it starts makes a dot of a single point.
    context.moveTo(stroke[0].x * side, stroke[0].y * side);
    for (const point of stroke) context.lineTo(point.x * side, point.y * side);
    context.stroke();
  }
}

/** The ink of strokes on a grid of `side` × `side` pixels, 0 to 1, rows from the top. */
export function strokeInk(strokes: readonly Stroke[], side: number): Float32Array {
  const canvas = document.createElement('canvas');
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('this browser gives no 2D canvas');
  drawStrokes(context, strokes, side);
  const { data } = context.getImageData(0, 0, side, side);
  return Float32Array.from({ length: side * side }, (_, pixel) => data[4 * pixel + 3] / 255);
}

/** Points on an ellipse; angles in degrees, 0 to the right, 90 downwards. */
function arc(x: number, y: number, rx: number, ry: number, start: number, end: number): Stroke {
  const steps = 16;
  return Array.from({ length: steps + 1 }, (_, step) => {
    const angle = ((start + ((end - start) * step) / steps) * Math.PI) / 180;
    return { x: x + rx * Math.cos(angle), y: y + ry * Math.sin(angle) };
  });
}

const line = (...points: [x: number, y: number][]): Stroke => points.map(([x, y]) => ({ x, y }));

/** A drawing of each digit, for whoever has no hand free to draw one. */
export const digitStrokes: readonly Stroke[][] = [
  [arc(0.5, 0.5, 0.2, 0.32, -90, 270)],
  [line([0.4, 0.3], [0.54, 0.18], [0.54, 0.82])],
  [[...arc(0.5, 0.36, 0.19, 0.18, -165, 35), ...line([0.31, 0.82], [0.72, 0.82])]],
  [[...arc(0.48, 0.34, 0.18, 0.16, -160, 80), ...arc(0.48, 0.66, 0.21, 0.17, -85, 155)]],
  [line([0.56, 0.18], [0.28, 0.6], [0.75, 0.6]), line([0.6, 0.4], [0.58, 0.82])],
  [[...line([0.68, 0.2], [0.38, 0.2], [0.35, 0.46]), ...arc(0.48, 0.62, 0.2, 0.2, -125, 140)]],
  [[...line([0.6, 0.16], [0.4, 0.4]), ...arc(0.5, 0.64, 0.18, 0.19, 200, -160)]],
  [line([0.3, 0.2], [0.7, 0.2], [0.44, 0.82])],
  [[...arc(0.5, 0.34, 0.15, 0.16, 90, -270), ...arc(0.5, 0.67, 0.19, 0.17, -90, 270)]],
  [[...arc(0.48, 0.37, 0.17, 0.18, -10, -350), ...line([0.65, 0.38], [0.62, 0.82])]],
];
