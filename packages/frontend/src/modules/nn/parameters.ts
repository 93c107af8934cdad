/** Lines of `__init__` that make parameters of these sizes if a condition holds, or say that there are none. */
export const parametersOf = (condition: string, sizes: Readonly<Record<string, string>>): string => {
  const lines = (each: (name: string) => string): string =>
    Object.keys(sizes)
      .map((name) => `            ${each(name)}\n`)
      .join('');
  return `        if ${condition}:
${lines((name) => `self.${name} = Parameter(torch.empty(${sizes[name]}, dtype=dtype))`)}        else:
${lines((name) => `self.register_parameter('${name}', None)`)}`;
};

/** Lines of `__init__` that make a bias of these sizes, or say that there is none. */
export const biasOf = (size: string): string => parametersOf('bias', { bias: size });

/** Lines of `__init__` that make a factor and a bias of these sizes where the layer has such. @param flag the attribute that says whether it has */
export const affineOf = (flag: string, size: string): string =>
  parametersOf(`self.${flag}`, { weight: size }) + parametersOf(`self.${flag} and bias`, { bias: size });

/** Lines of `reset_parameters` for what {@link affineOf} made. */
export const resetAffine =
  (): string => `        for value, fill in ((self.weight, init.ones_), (self.bias, init.zeros_)):
            if value is not None:
                fill(value)
`;

/** Lines of `reset_parameters` that draw a weight, and a bias within what one output sums. @param unless what more has to hold for a bias */
export const resetByFans = (unless = ''): string => `
    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None${unless}:
            summed = init._calculate_fan_in_and_fan_out(self.weight)[0]
            limit = 1 / math.sqrt(summed) if summed else 0
            init.uniform_(self.bias, -limit, limit)
`;
