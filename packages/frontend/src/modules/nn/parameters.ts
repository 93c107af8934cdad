/** Lines of `__init__` that make a bias of these sizes, or say that there is none. */
export const biasOf = (sizes: string): string => `        if bias:
            self.bias = Parameter(torch.empty(${sizes}, dtype=dtype))
        else:
            self.register_parameter('bias', None)`;

/** Lines of `__init__` that make a factor and a bias of these sizes where the layer has such. @param flag the attribute that says whether it has */
export const affineOf = (flag: string, sizes: string): string => `        if self.${flag}:
            self.weight = Parameter(torch.empty(${sizes}, dtype=dtype))
${biasOf(sizes).replaceAll(/^/gm, '    ')}
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)`;

/** Lines of `reset_parameters` for what {@link affineOf} made. */
export const resetAffine = (flag: string): string => `        if self.${flag}:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)`;
