"""Digits drawn by a program the way a mouse draws them: strokes of even thickness, in many hands.

They stand beside scanned handwriting in the training data, because what is drawn on a canvas looks more like this.
"""

import math

import numpy as np

Point = tuple[float, float]
Stroke = list[Point]


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float, steps: int = 14) -> Stroke:
    """Points on an ellipse; angles in degrees, 0 to the right, 90 downwards."""
    angles = np.radians(np.linspace(start, end, steps))
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


# Every way of writing a digit is a list of strokes in a box one unit high, y downwards.
HANDS: dict[int, list[list[Stroke]]] = {
    0: [[arc(0.35, 0.5, 0.33, 0.5, -90, 270, 24)], [arc(0.3, 0.5, 0.24, 0.5, -60, 300, 24)]],
    1: [
        [[(0.3, 0.0), (0.3, 1.0)]],
        [[(0.08, 0.28), (0.32, 0.0), (0.32, 1.0)]],
        [[(0.08, 0.25), (0.32, 0.0), (0.32, 1.0)], [(0.08, 1.0), (0.56, 1.0)]],
        [[(0.42, 0.0), (0.22, 1.0)]],
    ],
    2: [
        [[*arc(0.32, 0.28, 0.3, 0.28, -170, 40), (0.02, 1.0), (0.68, 1.0)]],
        [[*arc(0.32, 0.28, 0.3, 0.28, -160, 60), (0.2, 0.85), *arc(0.14, 0.9, 0.1, 0.1, 90, 320, 8), (0.7, 0.98)]],
    ],
    3: [
        [[*arc(0.28, 0.25, 0.3, 0.25, -160, 90), *arc(0.28, 0.74, 0.34, 0.26, -90, 150)]],
        [[(0.02, 0.0), (0.6, 0.0), (0.26, 0.4), *arc(0.28, 0.7, 0.34, 0.3, -80, 150)]],
    ],
    4: [
        [[(0.45, 0.0), (0.02, 0.66), (0.72, 0.66)], [(0.5, 0.3), (0.5, 1.0)]],
        [[(0.5, 1.0), (0.5, 0.0), (0.02, 0.66), (0.72, 0.66)]],
        [[(0.06, 0.0), (0.05, 0.5), (0.6, 0.5)], [(0.58, 0.0), (0.55, 1.0)]],
    ],
    5: [
        [[(0.6, 0.0), (0.12, 0.0), (0.08, 0.45), *arc(0.3, 0.68, 0.3, 0.3, -130, 140)]],
        [[(0.12, 0.0), (0.08, 0.45), *arc(0.3, 0.68, 0.3, 0.3, -130, 140)], [(0.12, 0.0), (0.6, 0.02)]],
    ],
    6: [
        [[(0.5, 0.0), (0.16, 0.36), *arc(0.33, 0.7, 0.3, 0.3, 200, -150, 20)]],
        [[*arc(0.5, 0.5, 0.48, 0.5, -70, -180, 8), *arc(0.3, 0.72, 0.28, 0.27, 180, -170, 20)]],
    ],
    7: [
        [[(0.02, 0.0), (0.62, 0.0), (0.2, 1.0)]],
        [[(0.02, 0.0), (0.62, 0.0), (0.2, 1.0)], [(0.14, 0.48), (0.56, 0.48)]],
        [[(0.02, 0.14), (0.02, 0.0), (0.62, 0.0), (0.4, 0.4), (0.3, 1.0)]],
    ],
    8: [
        [[*arc(0.33, 0.25, 0.25, 0.25, 90, -270, 18), *arc(0.33, 0.75, 0.31, 0.25, -90, 270, 18)]],
        [
            [
                *arc(0.33, 0.25, 0.25, 0.24, -20, -200, 10),
                (0.33, 0.5),
                *arc(0.33, 0.75, 0.3, 0.25, -30, 210, 14),
                (0.33, 0.5),
                (0.56, 0.2),
            ]
        ],
    ],
    9: [
        [[*arc(0.32, 0.3, 0.28, 0.3, -20, -350, 20), (0.58, 0.3), (0.56, 1.0)]],
        [[*arc(0.32, 0.3, 0.28, 0.3, -20, -350, 20), (0.6, 0.3), *arc(0.28, 0.62, 0.32, 0.38, 0, 120, 8)]],
        [[*arc(0.32, 0.3, 0.28, 0.3, 0, -350, 20), (0.6, 0.25), (0.42, 1.0)]],
    ],
}


def densify(stroke: Stroke, spacing: float = 0.04) -> np.ndarray:
    """The stroke with points no further than `spacing` from each other, [points, 2]."""
    points = np.asarray(stroke, dtype=np.float64)
    pieces = [points[:1]]
    for start, end in zip(points[:-1], points[1:]):
        count = max(1, math.ceil(float(np.linalg.norm(end - start)) / spacing))
        steps = np.arange(1, count + 1)[:, None] / count
        pieces.append(start + (end - start) * steps)
    return np.concatenate(pieces)


def rasterise(strokes: list[np.ndarray], radius: float, side: int) -> np.ndarray:
    """Ink of strokes given in pixels, as coverage between 0 and 1, [side, side]."""
    axis = np.arange(side) + 0.5
    pixels = np.stack(np.meshgrid(axis, axis), axis=-1)
    distance = np.full((side, side), np.inf)
    for points in strokes:
        for start, end in zip(points[:-1], points[1:]):
            along = end - start
            length = float(along @ along) or 1.0
            t = np.clip(((pixels - start) @ along) / length, 0.0, 1.0)
            distance = np.minimum(distance, np.linalg.norm(pixels - start - t[..., None] * along, axis=-1))
    return np.clip(radius + 0.5 - distance, 0.0, 1.0).astype(np.float32)


def draw(digit: int, random: np.random.Generator, side: int = 28) -> np.ndarray:
    """One drawing of a digit in a hand chosen at random, [side, side], ink 1 on paper 0."""
    hands = HANDS[digit]
    strokes = [densify(stroke) for stroke in hands[random.integers(len(hands))]]
    # A hand that trembles slowly: one smooth displacement field for the whole digit.
    waves = random.normal(0.0, 0.028, (2, 2, 3))
    phases = random.uniform(0.0, 2 * math.pi, (2, 2, 3))
    frequencies = np.array([2.0, 4.0, 7.0])
    angle, shear = random.normal(0.0, 0.12), random.normal(0.0, 0.14)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turn = turn @ np.array([[random.uniform(0.75, 1.35), shear], [0.0, 1.0]])
    height = random.uniform(0.45, 0.85) * side

    def place(points: np.ndarray) -> np.ndarray:
        moved = points.copy()
        for axis in range(2):
            for by in range(2):
                waved = np.sin(points[:, by, None] * frequencies + phases[axis, by]) * waves[axis, by]
                moved[:, axis] += waved.sum(axis=1)
        return (moved - [0.33, 0.5]) @ turn.T * height

    placed = [place(points) for points in strokes]
    everything = np.concatenate(placed)
    radius = random.uniform(0.7, 1.6) * side / 28
    room = side - (everything.max(axis=0) - everything.min(axis=0)) - 2 * radius
    corner = radius + np.clip(room, 0.0, None) * random.uniform(0.1, 0.9, 2)
    return rasterise([points - everything.min(axis=0) + corner for points in placed], radius, side)
