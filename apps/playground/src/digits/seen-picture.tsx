import { useEffect, useRef } from 'preact/hooks';

/** The picture after the model has centred it, small. */
export function SeenPicture({ pixels, side }: { pixels: ArrayLike<number> | null; side: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(side, side);
    for (let pixel = 0; pixel < side * side; pixel++) {
      image.data.fill(255 * (pixels?.[pixel] ?? 0), 4 * pixel, 4 * pixel + 3);
      image.data[4 * pixel + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [pixels, side]);
  return (
    <div class="seen">
      <canvas ref={canvas} width={side} height={side} aria-hidden="true" />
      <p class="faint">What the network sees: cut out and centred by the model’s own code</p>
    </div>
  );
}
