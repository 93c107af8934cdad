// Programs that every engine's WebGPU has to run as the host does. What they are made of differs in the shaders that come of it:
// contractions and convolutions, reductions along several axes, fused chains, scans, gathers, sorting, 64-bit and narrow integers,
// half precision, results whose size depends on data.
const ramp = (count, scale = 1) => Float32Array.from({ length: count }, (_, index) => Math.sin(index * 0.7) * scale);
const whole = (count, modulus) => Array.from({ length: count }, (_, index) => BigInt((index * 7919) % modulus));

export const programs = [
  {
    name: 'attention',
    source: `
def attention(x, w):
    q, k, v = torch.chunk(torch.matmul(x, w), 3, dim=-1)
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(32.0)
    mask = torch.ones(scores.size(-2), scores.size(-1)).tril() == 0
    return torch.matmul(torch.softmax(scores.masked_fill(mask, -1e9), dim=-1), v), F.scaled_dot_product_attention(q, k, v)
`,
    inputs: [
      { data: ramp(2 * 48 * 32), shape: [2, 48, 32] },
      { data: ramp(32 * 96, 0.3), shape: [32, 96] },
    ],
  },
  {
    name: 'convolutions',
    source: `
def convolutions(x, w, d, t):
    y = F.relu(F.conv2d(x, w, None, [2, 2], [1, 1]))
    y = F.silu(F.conv2d(y, d, None, [1, 1], [1, 1], [1, 1], 16) + 0.5)
    y = F.max_pool2d(y, [2, 2]) + F.avg_pool2d(y, [2, 2])
    return F.interpolate(F.conv_transpose2d(y, t, None, [2, 2]), scale_factor=2.0, mode="bilinear")
`,
    inputs: [
      { data: ramp(3 * 32 * 32), shape: [1, 3, 32, 32] },
      { data: ramp(16 * 27, 0.4), shape: [16, 3, 3, 3] },
      { data: ramp(16 * 9, 0.4), shape: [16, 1, 3, 3] },
      { data: ramp(16 * 8 * 4, 0.4), shape: [16, 8, 2, 2] },
    ],
  },
  {
    name: 'normalisation',
    source: `
def normalisation(x, w, b):
    y = F.layer_norm(x, [96], w, b)
    z = F.group_norm(y, 3, None, None) + y.mean(dim=[0, 2], keepdim=True)
    return F.gelu(z), torch.var(z, dim=1), torch.logsumexp(z, dim=2), z.amax(dim=0)
`,
    inputs: [
      { data: ramp(4 * 12 * 96), shape: [4, 12, 96] },
      { data: ramp(96), shape: [96] },
      { data: ramp(96, 0.1), shape: [96] },
    ],
  },
  {
    name: 'recurrence',
    source: `
def recurrence(x, w, u):
    h = torch.zeros(x.size(1), u.size(0))
    steps = torch.jit.annotate(List[Tensor], [])
    for t in range(x.size(0)):
        r, z = torch.sigmoid(torch.matmul(x[t], w) + torch.matmul(h, u)).chunk(2, 1)
        h = z * h + (1 - z) * torch.tanh(torch.cat([r, r], 1)[:, :64] * h.sum())
        steps.append(h)
    return torch.stack(steps)
`,
    inputs: [
      { data: ramp(6 * 3 * 20), shape: [6, 3, 20] },
      { data: ramp(20 * 128, 0.2), shape: [20, 128] },
      { data: ramp(64 * 128, 0.2), shape: [64, 128] },
    ],
  },
  {
    name: 'integers',
    source: `
def integers(i, x):
    big = i * 6364136223846793005 + 1442695040888963407
    narrow = (i % 251).to(torch.uint8) * 3
    return big // 1000003, big >> 33, narrow, (i - 700).to(torch.int8), i.sum(), (i % 5 == 2).sum(), i.float() / 7.0
`,
    inputs: [
      { data: whole(3000, 1511), shape: [3000], dtype: 'int64' },
      { data: ramp(4), shape: [4] },
    ],
  },
  {
    name: 'positions',
    source: `
def positions(table, i):
    rows = F.embedding(i, table)
    best, where = torch.topk(rows.sum(dim=1), 5)
    ordered, order = torch.sort(rows[:, 0])
    return rows, best, where, ordered, table.index_add(0, i, rows), torch.gather(table, 1, i[:40].view(-1, 1) % 24)
`,
    inputs: [
      { data: ramp(120 * 24), shape: [120, 24] },
      { data: whole(200, 120), shape: [200], dtype: 'int64' },
    ],
  },
  {
    name: 'scans',
    source: `
def scans(x):
    kept = x[x > 0.25]
    return torch.cumsum(x, 0), torch.cumprod(x * 0.5 + 1.0, 1), kept, torch.nonzero(x > 0.5), torch.argmax(x, 1)
`,
    inputs: [{ data: ramp(64 * 50), shape: [64, 50] }],
  },
  {
    name: 'halves',
    source: `
def halves(x, w):
    y = torch.matmul(x.half(), w.half())
    return F.gelu(y) + 1.0, (x.to(torch.bfloat16) * 3.0).float(), torch.softmax(y.float(), -1)
`,
    inputs: [
      { data: ramp(40 * 32), shape: [40, 32] },
      { data: ramp(32 * 48, 0.2), shape: [32, 48] },
    ],
  },
  {
    name: 'writes',
    source: `
def writes(x):
    y = x.clone()
    y[1:, ::2] += 1.5
    y.t().mul_(2.0)
    y[y < 0] = 0.25
    y[3] = x[2]
    return y, torch.where(y > 1, y, x), y.flip([0]), torch.roll(y, 3, 1), torch.pow(y.abs() + 0.1, 1.7)
`,
    inputs: [{ data: ramp(60 * 40), shape: [60, 40] }],
  },
];
