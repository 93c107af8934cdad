import { Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { expect } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

/** Loops along tensors. */
const source = `
def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    x = torch.zeros([12, 16])
    ys: List[Tensor] = []
    for i in range(u.size(0)):
        decay = torch.exp(delta[i].unsqueeze(1) * A)
        x = decay * x + delta[i].unsqueeze(1) * B[i] * u[i].unsqueeze(1)
        ys.append((x * C[i]).sum(1))
    return torch.stack(ys) + u * D

def states(x: Tensor, w: Tensor) -> Tensor:
    h = torch.zeros_like(x[0])
    kept: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h * w + x[i])
        kept.append(h)
    return torch.stack(kept)

def last(x: Tensor, w: Tensor) -> Tensor:
    h = w
    for i in range(x.size(0)):
        h = torch.tanh(h * w + x[i])
    return h * 2

def columns(x: Tensor, w: Tensor) -> Tensor:
    h = x[:, 0]
    kept = [h]
    for i in range(x.size(1)):
        h = h * 0.5 + x[:, i]
        kept.append(h)
    return torch.stack(kept, 1)

def each(x: Tensor, w: Tensor) -> Tensor:
    kept: List[Tensor] = []
    for i in range(x.size(0)):
        kept.append((x[i] * w).sum(1) + torch.exp(x[i, 0]).sum())
    return torch.cat(kept)

def rows_of_state(x: Tensor, w: Tensor) -> Tensor:
    h = w
    for i in range(x.size(0)):
        h = (h - h.mean(1, keepdim=True)) * w + x[i] - h[:, 0:1]
    return h

def two_states(x: Tensor, w: Tensor) -> Tuple[Tensor, Tensor]:
    c, h = w, w * 2
    for i in range(x.size(0)):
        c = torch.sigmoid(h + x[i]) * c + x[i]
        h = torch.tanh(c) * 0.5
    return c, h

def crossed(x: Tensor, w: Tensor) -> Tensor:
    h = w
    for i in range(x.size(0)):
        h = torch.tanh(h + h.t() * x[i])
    return h

def previous(x: Tensor, w: Tensor) -> Tensor:
    h = w
    kept: List[Tensor] = []
    for i in range(x.size(0)):
        kept.append((h * x[i]).sum(0))
        h = h * 0.9 + x[-1 - i] * x[i - 1]
        kept.append((h + i).sum(0))
    return torch.cat(kept)

def written(x: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    h = w
    for i in range(x.size(0)):
        h = h * w + x[i]
        out[i] = h
    return out

def written_over(x: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    for i in range(x.size(0) - 1):
        out[i:i + 2] = x[i:i + 2] * w + i
    return out

def read_back(x: Tensor, w: Tensor) -> Tensor:
    out = x.clone()
    for i in range(x.size(0) - 1):
        out[i + 1] = out[i] * w + x[i + 1]
    return out

def integers(x: Tensor, w: Tensor) -> Tensor:
    h = torch.zeros([12, 12], dtype=torch.long)
    for i in range(x.size(0)):
        h = h * 3 + (x[i] * 100).to(torch.long) + i
    return h

def too_far(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w
    for i in range(n):
        h = torch.tanh(h + x[i])
    return h

def in_squares(x: Tensor, w: Tensor) -> Tensor:
    h = w
    for i in range(x.size(0)):
        h = h * 0.5 + x[i * i % 30]
    return h

def changed_later(x: Tensor, w: Tensor) -> Tensor:
    h = w
    kept: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h * w + x[i])
        kept.append(h)
        kept.append(h)
    h.mul_(2)
    kept[1].add_(1)
    return torch.stack(kept)

def shuffled(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w
    for i in range(n):
        h = h * 0.5 + x[i ^ 4]
    return h

def from_list(x: Tensor, w: Tensor) -> Tensor:
    rows = torch.unbind(x * 2)
    h = w
    for i in range(len(rows)):
        h = h * 0.5 + rows[i]
    return h

def with_offsets(x: Tensor, w: Tensor) -> Tensor:
    h = w
    kept: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
        kept.append(h)
    return torch.as_strided(kept[3], [4], [2], 0)

def twice(x: Tensor, w: Tensor) -> Tensor:
    h = w
    for j in range(3):
        for i in range(x.size(0)):
            h = torch.tanh(h * w + x[i] + j)
    return h
`;

export const elements = (value: IValue): number[] =>
  value instanceof Tensor
    ? Array.from(value.contiguousArray() as Float32Array, Number)
    : (value as unknown as { items: IValue[] }).items.flatMap(elements);

export const onDevice = (device: ComputeDevice): PythonFunctions =>
  new PythonFunctions(source, { device, limits: { smallWork: -1 } });

export const onHost = (): PythonFunctions => new PythonFunctions(source, {});

/** Arguments that are others with each run. */
export const argumentsOf = (run: number, length = 30): IValue[] => [
  tensorOf([length, 12, 12], run),
  tensorOf([12, 12], run + 50),
];

/** Calls a function some times on both, and compares what they give; the launches of the last call. */
export async function compared(
  device: ComputeDevice,
  name: string,
  argsOf: (run: number) => IValue[],
  runs = 4,
): Promise<number> {
  const host = onHost();
  const program = onDevice(device);
  for (let run = 0; run < runs; run++) {
    const args = argsOf(run);
    const wanted = elements(await host.call(name, args));
    const found = elements(await program.call(name, args));
    expect(found.length).toBe(wanted.length);
    found.forEach((value, at) =>
      expect(Math.abs(value - wanted[at])).toBeLessThan(1e-4 * Math.max(1, Math.abs(wanted[at]))),
    );
  }
  return program.module.lastRun!.dispatches;
}

/** Of a scan over states, with what is made of them. */
export const scanArguments = (run: number): IValue[] =>
  [[40, 12], [40, 12], [12, 16], [40, 16], [40, 16], [12]].map((sizes, at) => tensorOf(sizes, run * 7 + at));
