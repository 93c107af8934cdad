import { useEffect, useRef } from 'preact/hooks';
import { drawStrokes, type Point, type Stroke } from './strokes.ts';

interface Properties {
  readonly strokes: readonly Stroke[];
  readonly onDraw: (strokes: Stroke[]) => void;
}

const keyStep = 0.035;
const keyMoves: Record<string, [x: number, y: number] | undefined> = {
  ArrowLeft: [-keyStep, 0],
  ArrowRight: [keyStep, 0],
  ArrowUp: [0, -keyStep],
  ArrowDown: [0, keyStep],
};

const withinPaper = (value: number) => Math.min(1, Math.max(0, value));

function paint(canvas: HTMLCanvasElement, strokes: readonly Stroke[], pen: Point | null): void {
  const side = Math.round(canvas.clientWidth * devicePixelRatio);
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(canvas);
  context.strokeStyle = style.color;
  drawStrokes(context, strokes, side);
  if (!pen) return;
  context.strokeStyle = style.accentColor;
  context.lineWidth = 2 * devicePixelRatio;
  context.beginPath();
  context.arc(pen.x * side, pen.y * side, 0.04 * side, 0, 2 * Math.PI);
  context.stroke();
}

/** A square to draw in with mouse, finger, pen or keys: arrows move the pen, the space bar puts it down and lifts it. */
export function DrawingCanvas({ strokes, onDraw }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const current = useRef<readonly Stroke[]>(strokes);
  const keyPen = useRef<{ at: Point; isDown: boolean } | null>(null);
  current.current = strokes;

  useEffect(() => {
    if (canvas.current) paint(canvas.current, strokes, keyPen.current?.at ?? null);
  });
  useEffect(() => {
    const repaint = () => canvas.current && paint(canvas.current, current.current, keyPen.current?.at ?? null);
    const observer = new ResizeObserver(repaint);
    if (canvas.current) observer.observe(canvas.current);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', repaint);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', repaint);
    };
  }, []);

  const put = (next: Stroke[]) => {
    // Several events may come before the next rendering.
    current.current = next;
    onDraw(next);
  };
  const start = (point: Point) => put([...current.current, [point]]);
  const extend = (points: readonly Point[]) => {
    const last = current.current.at(-1);
    if (last) put([...current.current.slice(0, -1), [...last, ...points]]);
  };
  const place = (event: PointerEvent): Point => {
    const box = (event.target as HTMLElement).getBoundingClientRect();
    return {
      x: withinPaper((event.clientX - box.left) / box.width),
      y: withinPaper((event.clientY - box.top) / box.height),
    };
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    keyPen.current = null;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    start(place(event));
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!(event.target as HTMLElement).hasPointerCapture(event.pointerId)) return;
    const events = event.getCoalescedEvents?.() ?? [];
    extend((events.length > 0 ? events : [event]).map(place));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = keyMoves[event.key];
    if (!move && event.key !== ' ') return;
    event.preventDefault();
    const pen = (keyPen.current ??= { at: { x: 0.5, y: 0.2 }, isDown: false });
    if (move) {
      pen.at = { x: withinPaper(pen.at.x + move[0]), y: withinPaper(pen.at.y + move[1]) };
      if (pen.isDown) extend([pen.at]);
    } else {
      pen.isDown = !pen.isDown;
      if (pen.isDown) start(pen.at);
    }
    if (canvas.current) paint(canvas.current, current.current, pen.at);
  };
  const onBlur = () => {
    keyPen.current = null;
    if (canvas.current) paint(canvas.current, current.current, null);
  };

  return (
    <canvas
      ref={canvas}
      class="paper"
      role="application"
      tabIndex={0}
      aria-label="Drawing area. Arrow keys move the pen, the space bar puts it down and lifts it."
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
      onBlur={onBlur}
    />
  );
}
