import type { Random } from '../random.ts';
import type { Expressions } from './expressions.ts';
import type { Scope } from './scope.ts';

/** Lines of a body, and the names that they bring. */
export interface Statement {
  readonly lines: readonly string[];
  readonly tensors?: readonly string[];
  readonly lists?: readonly string[];
  readonly dicts?: readonly string[];
  readonly numbers?: readonly string[];
  readonly numberLists?: readonly string[];
}

const inner = (lines: readonly string[]): string[] => lines.map((line) => `    ${line}`);

/** Random statements: whether they are valid shows when they are run. */
export class Statements {
  constructor(
    private readonly random: Random,
    private readonly scope: Scope,
    private readonly expressions: Expressions,
  ) {}

  any(): Statement {
    const place = this.random.float();
    if (place < 0.28) return this.#assignment();
    if (place < 0.62) return { lines: [this.write()] };
    if (place < 0.8) return this.#container();
    if (place < 0.83) return this.#state();
    if (place < 0.87) return this.#cache();
    if (place < 0.9) return this.#number();
    if (place < 0.93) return this.#branch();
    return this.#loop();
  }

  #assignment(): Statement {
    const name = this.scope.fresh('v');
    const { expressions: e } = this;
    const other = this.scope.fresh('v');
    return this.random.pick<() => Statement>([
      () => ({ lines: [`${name} = ${e.expression()}`], tensors: [name] }),
      () => ({ lines: [`${name} = ${e.expression()}`], tensors: [name] }),
      () => ({ lines: [`${name} = ${e.expression()}`], tensors: [name] }),
      () => ({ lines: [`${name} = ${e.view(e.name())}`], tensors: [name] }),
      () => ({ lines: [`${name}, ${other} = ${e.name()}, ${e.expression(1)}`], tensors: [name, other] }),
      () => ({ lines: [`${name}, ${other} = self.swap(${e.name()}, ${e.name()})`], tensors: [name, other] }),
      () => ({ lines: [`${name} = self.bump(${e.name()})`], tensors: [name] }),
      () => this.#optional(name),
    ])();
  }

  #optional(name: string): Statement {
    const { expressions: e } = this;
    const maybe = this.scope.fresh('o');
    const lines = [
      `${maybe}: Optional[Tensor] = None`,
      `if n > 2:`,
      `    ${maybe} = ${e.name()}`,
      `${name} = ${e.name()} * 1`,
      `if ${maybe} is not None:`,
      `    ${maybe}.mul_(2)`,
      `    ${name} = ${name} + ${maybe}`,
    ];
    return { lines, tensors: [name] };
  }

  /** One line that writes to a tensor in place. */
  write(): string {
    const { expressions: e, random } = this;
    const base = e.name();
    const target = random.chance(0.4) ? e.view(base) : base;
    const value = e.expression(1);
    const number = e.number(base);
    const masked = random.chance(0.7) ? target : e.name();
    const mask = `${masked === target ? (e.comparable(base) === base ? target : `${target}.real`) : e.comparable(masked)} > ${e.threshold()}`;
    const half = e.isFloat(base) ? '0.5' : '2';
    return random.pick<() => string>([
      () => `${target}.add_(${value})`,
      () => `${target}.mul_(${number})`,
      () => `${target}.copy_(${value})`,
      () => `${target}.zero_()`,
      () => `${target}.fill_(${number})`,
      () => `${target}[${mask}] = ${number}`,
      () => `${target}[${mask}] = ${number}`,
      () => `${target}[${mask}] = ${target}[${mask}] * ${half}`,
      () => `${base}[${random.below(2)}] = ${value}`,
      () => `${base}[${random.below(3)}:] += ${number}`,
      () => `${base}[torch.tensor([0, -1])] = ${number}`,
      () => `${target}.masked_fill_(${mask}, ${number})`,
      () => `${target}.neg_()`,
      () => `${target}.clamp_(-1, 1)`,
      () => (e.isFloat(base) ? `${target}.tanh_()` : `${target}.mul_(2)`),
      () => `${target}.index_add_(0, torch.tensor([0, 0]), ${target}[:2] * ${half})`,
      () => `${target}.index_fill_(0, torch.tensor([0]), ${number})`,
      () => `${target}.scatter_(-1, torch.zeros_like(${target}, dtype=torch.int64), ${number})`,
      () => `${target}.index_put_([torch.tensor([0])], ${target}[:1] * ${half}, True)`,
      () => `${target}.sub_(${value}, alpha=2)`,
      () => `${target}.mul_(${value})`,
      () => `${base} += ${value}`,
      () => `${base} *= ${number}`,
      () => `torch.add(${value}, ${number}, out=${base})`,
      // Of no other sizes: memory that grew over what is read is read in an order that nothing defines.
      () => `torch.mul((${value}).expand_as(${target}), ${e.name()}.expand_as(${target}), out=${target})`,
    ])();
  }

  #container(): Statement {
    const { expressions: e, random, scope } = this;
    const name = scope.fresh('v');
    const list = scope.fresh('q');
    const [known, dict] = [random.pick(scope.lists), random.pick(scope.dicts)];
    const [item, at] = [scope.fresh('e'), scope.fresh('i')];
    const half = e.isFloat('x') ? '0.5' : '2';
    return random.pick<() => Statement>([
      () => ({ lines: [`${list} = [${e.name()}, ${e.expression(1)}, ${e.name()}]`], lists: [list] }),
      () => ({ lines: [`${list} = list(torch.unbind(${e.name()}))`], lists: [list] }),
      () => ({ lines: [`${list} = list(torch.chunk(${e.name()}, 2))`], lists: [list] }),
      () => ({ lines: [`${list} = ${known}${random.pick(['[:]', '[1:]', '[::-1]', ` + ${known}`])}`], lists: [list] }),
      () => ({ lines: [`${list} = {"a": ${e.name()}, "b": ${e.expression(1)}}`], dicts: [list] }),
      () => ({ lines: [`${known}[0].add_(1)`] }),
      () => ({ lines: [`${known}[${random.pick([0, -1])}].mul_(${half})`] }),
      () => ({ lines: [`${known}.append(${e.name()})`] }),
      () => ({ lines: [`${known}.insert(0, ${e.expression(1)})`] }),
      () => ({ lines: [`${known}.reverse()`] }),
      () => ({ lines: [`${known}[0] = ${e.expression(1)}`] }),
      () => ({ lines: [`if len(${known}) > 3:`, `    ${known}.pop(0)`] }),
      () => ({ lines: [`${name} = ${known}[${random.pick([0, -1])}]`], tensors: [name] }),
      () => ({ lines: [`${name} = torch.${random.pick(['cat', 'stack'])}(${known})`], tensors: [name] }),
      () => ({ lines: [`${name} = torch.cat(${known}) + torch.cat(${known})`], tensors: [name] }),
      () => ({ lines: [`for ${item} in ${known}:`, `    ${item}.mul_(${half})`] }),
      () => ({ lines: [`for ${at}, ${item} in enumerate(${known}):`, `    ${item}[..., ${at}:] = 2`] }),
      () => ({ lines: [`${dict}["${random.pick(['a', 'b', 'c'])}"] = ${e.expression(1)}`] }),
      () => ({ lines: [`${dict}["a"].add_(1)`] }),
      () => ({ lines: [`${name} = ${dict}["a"]`], tensors: [name] }),
    ])();
  }

  #state(): Statement {
    const { expressions: e } = this;
    return this.random.pick<() => Statement>([
      () => ({ lines: [`self.s = ${e.expression(1)}`] }),
      () => ({ lines: [`self.s.copy_(${e.operand()})`] }),
      () => ({ lines: [`self.s.add_(${e.operand()})`] }),
      () => ({ lines: [`self.s = torch.cat([self.s, ${e.operand()}], -1)[..., -16:]`] }),
      () => ({ lines: ['self.k += 1'] }),
      () => ({ lines: [`if len(self.kept) > 2:`, `    self.kept = [self.s]`] }),
    ])();
  }

  /** What the module keeps and puts at the end of from call to call: rows of 64 elements. */
  #cache(): Statement {
    const { expressions: e, scope } = this;
    const [name, flat] = [scope.fresh('v'), scope.fresh('c')];
    const half = e.isFloat('x') ? '0.5' : '2';
    const grow = (): Statement => ({
      lines: [
        `${flat} = (${e.expression(1)}).to(self.cache.dtype).reshape(-1)`,
        `self.cache = torch.cat([self.cache, ${flat}[: ${flat}.size(0) // 128 * 128].reshape(2, -1, 64)[:, :3]], 1)`,
      ],
    });
    return this.random.pick<() => Statement>([
      grow,
      grow,
      grow,
      grow,
      () => ({ lines: [`${name} = self.cache.sum(1)`], tensors: [name] }),
      () => ({ lines: [`${name} = self.cache * 2`], tensors: [name] }),
      () => ({ lines: [`${name} = torch.matmul(self.cache[:, -1:], self.cache.transpose(1, 2))[0]`], tensors: [name] }),
      () => ({ lines: [`${name} = self.cache[:, 1:]`], tensors: [name] }),
      () => ({ lines: [`self.cache[:, :1].mul_(${half})`] }),
      () => ({ lines: [`self.kept.append(self.cache)`] }),
      () => ({ lines: ['if self.cache.size(1) > 9:', '    self.cache = self.cache[:, 2:]'] }),
    ])();
  }

  /** What is worked out of sizes and of other whole numbers. */
  #number(): Statement {
    const { expressions: e, random, scope } = this;
    const name = scope.fresh('m');
    const known = random.pick(scope.numbers);
    const size = `${e.name()}.size(${random.pick([0, -1])})`;
    const list = random.pick(scope.numberLists);
    return random.pick<() => Statement>([
      () => ({ lines: [`${name} = ${size} ${random.pick(['+', '-', '*', '//', '%'])} 2`], numbers: [name] }),
      () => ({ lines: [`${name} = ${known} + ${size}`], numbers: [name] }),
      () => ({ lines: [`${name} = ${random.pick(['min', 'max'])}(${known}, ${size})`], numbers: [name] }),
      () => ({ lines: [`self.k += ${size}`] }),
      () => ({ lines: [`self.k = ${known} % 9`] }),
      () => ({ lines: [`${name} = [${size}, ${known}]`], numberLists: [name] }),
      () => ({ lines: [`${name} = ${e.name()}.size()`], numberLists: [name] }),
      () =>
        list === undefined
          ? { lines: [`${name} = ${e.name()}.numel()`], numbers: [name] }
          : { lines: [`${name} = ${list}[-1] - ${list}[0]`], numbers: [name] },
      () => ({ lines: list === undefined ? [`self.k += 1`] : [`${list}.append(${known})`] }),
    ])();
  }

  #branch(): Statement {
    const { expressions: e, random, scope } = this;
    const condition = random.pick([
      'n > 2',
      'self.k > 1',
      `${random.pick(scope.numbers)} > 5`,
      `${e.name()}.size(0) > 100`,
      `${e.name()}.size(-1) % 2 == 0`,
      `${e.name()}.numel() > 1000`,
      `bool(${e.comparable(e.name())}.sum() > 0.37)`,
    ]);
    const lines = [`if ${condition}:`, ...inner([this.write()])];
    if (random.chance(0.4)) lines.push(...inner([this.write()]));
    if (random.chance(0.5)) lines.push('else:', ...inner([this.write()]));
    return { lines };
  }

  #loop(): Statement {
    const { expressions: e, random, scope } = this;
    const name = scope.fresh('v');
    const at = scope.fresh('i');
    const half = e.isFloat('x') ? '0.5' : '1';
    const body: string[] = [];
    for (let times = 1 + random.below(2); times > 0; times--) {
      body.push(
        random.pick<() => string>([
          () => `${name} = ${name} * ${half} + ${e.name()}`,
          () => `${name}[${at} % ${name}.size(0)] = ${e.number('x')}`,
          () => `${name} = torch.cat([${name}, ${e.name()}])`,
          () => this.write(),
          () => this.write(),
        ])(),
      );
    }
    if (random.chance(0.2)) body.push(`if ${at} > 1:`, ...inner([random.pick(['break', 'continue'])]));
    const begin = [`${name} = ${e.expression(1)}`];
    if (random.chance(0.25))
      return {
        lines: [...begin, `${at} = 0`, `while ${at} < n:`, ...inner([`${at} += 1`, ...body])],
        tensors: [name],
      };
    const trips = random.pick(['n', '2', '3', '10', `${e.name()}.size(-1) % 4`]);
    return { lines: [...begin, `for ${at} in range(${trips}):`, ...inner(body)], tensors: [name] };
  }
}
