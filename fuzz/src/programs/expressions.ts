import { isComplex, isFloatingPoint } from '@cresset/tensor';
import type { Random } from '../random.ts';
import type { Scope, TensorInfo } from './scope.ts';

/** Numbers that are added, multiplied and stored. */
const NUMBERS = ['0.3', '-0.55', '0.7', '1.05', '-1.3', '2.2'];

/** What masks compare with: no sum of few of those numbers and of the multiples of an eighth that programs are given comes near. */
const THRESHOLDS = ['0.3017', '-0.5531', '0.7073', '1.0479', '-1.3019', '2.2037'];

type Rule = () => string;

/** Random expressions over the tensors of a scope: whether they are valid shows when they are run. */
export class Expressions {
  constructor(
    private readonly random: Random,
    private readonly scope: Scope,
  ) {}

  /** The name of a tensor; those that were made last come up most. */
  name(): string {
    const names = [...this.scope.tensors.keys()];
    return this.random.chance(0.7) ? this.random.pick(names.slice(-6)) : this.random.pick(names);
  }

  infoOf(name: string): TensorInfo {
    return this.scope.tensors.get(name) ?? { dtype: 'float32', sizes: [1] };
  }

  isFloat(name: string): boolean {
    const { dtype } = this.infoOf(name);
    return isFloatingPoint(dtype) || isComplex(dtype);
  }

  /** A number that the tensor's dtype can hold. */
  number(name: string): string {
    return this.isFloat(name) ? this.random.pick(NUMBERS) : `${1 + this.random.below(3)}`;
  }

  threshold(): string {
    return this.random.pick(THRESHOLDS);
  }

  /** What a mask compares: complex numbers have no order. */
  comparable(name: string): string {
    return isComplex(this.infoOf(name).dtype) ? `${name}.real` : name;
  }

  /** A view of a tensor. */
  view(name: string): string {
    const { sizes } = this.infoOf(name);
    if (sizes.length === 0) return name;
    const dim = this.random.below(sizes.length);
    const size = sizes[dim];
    const half = Math.max(1, size >> 1);
    return this.#one([
      () => `${name}[${this.random.below(Math.min(sizes[0], 4) || 1)}]`,
      () => `${name}[${this.random.below(3)}:]`,
      () => `${name}[..., ${this.random.below(3)}::${1 + this.random.below(3)}]`,
      () => `${name}[:${Math.max(1, sizes[0] - 1)}]`,
      () => `${name}.transpose(${dim}, ${this.random.below(sizes.length)})`,
      () => `${name}.permute(${[...sizes.keys()].reverse().join(', ')})`,
      () => `${name}.reshape(-1)`,
      () => `${name}.flatten()`,
      () => `${name}.unsqueeze(${this.random.below(sizes.length + 1)})`,
      () => `${name}.squeeze()`,
      () => `${name}.narrow(${dim}, ${size > half ? 1 : 0}, ${half})`,
      () => `${name}.chunk(2, ${dim})[${this.random.pick([0, -1])}]`,
      () => `torch.split(${name}, ${half}, ${dim})[${this.random.pick([0, -1])}]`,
      () => `${name}.unbind(${dim})[${this.random.pick([0, -1])}]`,
      () => `${name}.select(${dim}, 0)`,
      () => `${name}.diagonal()`,
      () => `${name}.expand_as(${this.name()})`,
      () => `${name}.view_as(${name})`,
      () => `torch.dropout(${name}, 0.5, False)`,
      () => `torch.atleast_2d(${name})`,
    ]);
  }

  /** A tensor, or a view of one. */
  operand(): string {
    const name = this.name();
    return this.random.chance(0.15) ? this.view(name) : name;
  }

  /** What gives a tensor, most of the time a new one. */
  expression(depth = 0): string {
    const name = this.name();
    const a = depth < 2 && this.random.chance(0.25) ? `(${this.expression(depth + 1)})` : this.operand();
    const b = this.operand();
    const number = this.number(name);
    const rank = this.infoOf(name).sizes.length;
    const pointwise: Rule[] = [
      () => `${a} ${this.random.pick(['+', '-', '*'])} ${b}`,
      () => `${a} ${this.random.pick(['+', '-', '*'])} ${number}`,
      () => `${b} + ${a}`,
      () => `-${a}`,
      () => `torch.relu(${a})`,
      () => `${a}.clamp(-1, 2)`,
      () => `${a}.clone()`,
      () => `torch.where(${this.comparable(name)} > ${this.threshold()}, ${name}, ${b})`,
      () => `(${this.comparable(name)} > ${this.threshold()}).to(${b}.dtype)`,
      () => `${a}.abs()`,
    ];
    const floating: Rule[] = [
      () => `torch.tanh(${a})`,
      () => `torch.sigmoid(${a})`,
      () => `(${a} - ${name}.mean())`,
      () => `torch.softmax(${a}, -1)`,
      () => `torch.layer_norm(${name}, [${name}.size(-1)])`,
      () => `${a} / (1.0 + ${name}.abs())`,
      () => `(${a}.abs() + 0.1).sqrt()`,
      () => `torch.lerp(${a}, ${b}, 0.25)`,
      () => `torch.addcmul(${a}, ${b}, ${b})`,
      () => `torch.exp(-${a}.abs())`,
    ];
    const moving: Rule[] = [
      () => `torch.cat([${a}, ${b}], ${this.random.pick([0, -1])})`,
      () => `torch.stack([${a}, ${b}])[${this.random.pick([0, 1, -1])}]`,
      () => `${name}.repeat(2${', 1'.repeat(Math.max(rank, 1) - 1)})`,
      () => `torch.roll(${a}, 1, 0)`,
      () => `torch.flip(${a}, [0])`,
      () => `torch.zeros_like(${a})`,
      () => `torch.full_like(${a}, ${number})`,
      () => `${name}.index_select(0, torch.tensor([0, -1]) % ${name}.size(0))`,
      () => `torch.tril(${a})`,
      () => `${name}.unfold(-1, 2, 1).clone()`,
      () => this.view(name),
    ];
    const reducing: Rule[] = [
      () => `${a}.sum(-1, keepdim=True)`,
      () => `torch.cumsum(${a}, -1)`,
      () => `torch.max(${this.comparable(name)}, -1)[0]`,
      () => `torch.sort(${this.comparable(name)}, -1)[0]`,
      () => `torch.topk(${this.comparable(name)}, 1, -1)[0]`,
      () => `torch.argmax(${this.comparable(name)}, -1).to(${name}.dtype)`,
      () => `${a}.sum(0)`,
      () => `torch.einsum('...i,...i->...i', ${a}, ${b})`,
      () => `torch.matmul(${a}, ${b}.transpose(-1, -2)) * 0.01`,
      () => `torch.bmm(${a}, ${b}.transpose(1, 2)) * 0.01`,
    ];
    const numeric = this.isFloat(name) ? floating : pointwise;
    const sized = this.isFloat(name) && this.random.chance(0.5) ? this.#layers(name) : this.#sized(name);
    return this.#one(this.random.pick([pointwise, pointwise, pointwise, moving, reducing, numeric, sized]));
  }

  /** What goes by the sizes of a tensor, whatever they are. */
  #sized(name: string): Rule[] {
    const size = `${name}.size(-1)`;
    const range = `torch.arange(${size})`;
    return [
      () => `${name}[..., : (${size} + 1) // 2]`,
      () => `${name}[..., ${size} // 2 :] ${this.random.pick(['+', '*'])} 1`,
      () => `${name}.narrow(-1, ${size} // 3, 1)`,
      () => `${name}.reshape(${name}.size(0), -1)`,
      () => `${name}.reshape(-1, 1) * torch.ones([1, 3], dtype=${name}.dtype)`,
      () => `${name}.unsqueeze(0).expand([3] + ${name}.size()).clone()`,
      () => `${name} + (${range} % 5).to(${name}.dtype)`,
      () => `${name} + ${size} % 7`,
      () => `${name} + ${this.random.pick(this.scope.numbers)} % 5`,
      () => `${name}[..., ${this.random.pick(this.scope.numbers)} % ${size}]`,
      () => `torch.arange(${this.random.pick(this.scope.numbers)} % 50 + 2).to(${name}.dtype)`,
      () => `${name}[..., : ${this.random.pick(this.scope.numbers)}]`,
      () => `torch.where(${range} < ${size} // 2, ${name}, ${name} + ${name})`,
      () => `torch.constant_pad_nd(${name}, [n, 2], 1)`,
      () => `torch.zeros(${name}.size(), dtype=${name}.dtype) + ${name}`,
      () => `torch.repeat_interleave(${name}, 2, -1)`,
      () => `torch.gather(${name}, -1, (${range} % 3).expand(${name}.size()))`,
      () => `torch.embedding(${name}.reshape(-1, 1), torch.arange(${name}.numel()) // 2)`,
      () => `torch.flip(${name}, [-1])`,
      () => `torch.roll(${name}, ${size} // 2, -1)`,
      () => `torch.split(${name}, (${size} + 1) // 2, -1)[-1]`,
      () => `${name}.unfold(-1, min(4, ${size}), 2).sum(-1)`,
      () => `${name}.sum(-1, keepdim=True) + ${name}`,
    ];
  }

  /** What networks are made of, along all elements of a tensor. */
  #layers(name: string): Rule[] {
    const line = `${name}.reshape(1, 1, -1)`;
    const ones = (...sizes: number[]): string => `torch.full([${sizes.join(', ')}], 0.25, dtype=${name}.dtype)`;
    return [
      () => `torch.conv1d(${line}, ${ones(2, 1, 3)}, None, [1], [1])`,
      () => `torch.conv1d(${line}, ${ones(1, 1, 4)}, None, [2], [2]).reshape(-1)`,
      () => `torch.conv_transpose1d(${line}, ${ones(1, 1, 4)}, None, [2], [1]).flatten()`,
      () => `torch.max_pool1d(${line}, [3], [2], [1]).squeeze()`,
      () => `torch.avg_pool1d(${line}, [3], [1], [1]).reshape(${name}.size())`,
      () => `torch.adaptive_avg_pool1d(${line}, [4])`,
      () => `torch.group_norm(${name}.reshape(1, 1, -1), 1).reshape(-1)`,
      () =>
        `torch.nn.functional.interpolate(${line}, scale_factor=2.0, mode="${this.random.pick(['nearest', 'linear'])}")`,
      () => `torch.nn.functional.linear(${name}.reshape(-1, 1), ${ones(3, 1)})`,
      () => `torch.matmul(${name}, torch.full([${name}.size(-1), 2], 0.01, dtype=${name}.dtype))`,
      () => `torch.nn.functional.glu(torch.cat([${name}, ${name}], -1), -1)`,
      () => `torch.nn.functional.gelu(${name})`,
      () => `${name}.sum() / ${name}.numel()`,
      () => `(${name} - ${name}.mean(-1, keepdim=True)) * 0.5`,
      () => `torch.logsumexp(${name}, -1)`,
      () => `torch.cumsum(${name}, -1) / ${name}.size(-1)`,
      () =>
        `torch.nn.functional.scaled_dot_product_attention(${[1, 2, 3].map(() => `${name}.reshape(1, -1, 1)[:, :64]`).join(', ')})`,
    ];
  }

  #one(rules: readonly Rule[]): string {
    return this.random.pick(rules)();
  }
}
