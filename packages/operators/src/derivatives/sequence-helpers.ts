/** Steps of recurrences, products by index names, and alignments. */
export const sequenceHelpers: Readonly<Record<string, string>> = {
  gru_step: `
def gru_step(rows, columns, hx):
    a = torch.chunk(rows, 3, -1)
    b = torch.chunk(columns, 3, -1)
    reset = torch.sigmoid(a[0] + b[0])
    update = torch.sigmoid(a[1] + b[1])
    new = torch.tanh(a[2] + reset * b[2])
    return new + update * (hx - new)`,
  lstm_step: `
def lstm_step(gates, cx):
    parts = torch.chunk(gates, 4, -1)
    cell = torch.sigmoid(parts[1]) * cx + torch.sigmoid(parts[0]) * torch.tanh(parts[2])
    return torch.sigmoid(parts[3]) * torch.tanh(cell), cell`,
  recurrent_layers: `
def recurrent_layers(data, sizes: List[int], hx, cx, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, cell: str):
    directions = 2 if bidirectional else 1
    isProjected = cell == "lstm" and hx.size(2) != cx.size(2)
    each = (4 if has_biases else 2) + (1 if isProjected else 0)
    begins: List[int] = []
    total = 0
    for size in sizes:
        begins.append(total)
        total += size
    taken = data
    hiddens: List[Tensor] = []
    cells: List[Tensor] = []
    for layer in range(num_layers):
        outputs: List[Tensor] = []
        for direction in range(directions):
            first = (layer * directions + direction) * each
            b_ih: Optional[Tensor] = None
            b_hh: Optional[Tensor] = None
            if has_biases:
                b_ih = params[first + 2]
                b_hh = params[first + 3]
            rows = torch.linear(taken, params[first], b_ih)
            start_h = hx[layer * directions + direction]
            start_c = cx[layer * directions + direction]
            batch = sizes[0] if direction == 0 else sizes[len(sizes) - 1]
            h = torch.narrow(start_h, 0, 0, batch)
            c = torch.narrow(start_c, 0, 0, batch)
            found: List[Tensor] = []
            ended_h: List[Tensor] = []
            ended_c: List[Tensor] = []
            for count in range(len(sizes)):
                at = count if direction == 0 else len(sizes) - 1 - count
                size = sizes[at]
                if size < h.size(0):
                    ended_h.append(torch.narrow(h, 0, size, h.size(0) - size))
                    ended_c.append(torch.narrow(c, 0, size, c.size(0) - size))
                    h = torch.narrow(h, 0, 0, size)
                    c = torch.narrow(c, 0, 0, size)
                elif size > h.size(0):
                    old = h.size(0)
                    h = torch.cat([h, torch.narrow(start_h, 0, old, size - old)], 0)
                    c = torch.cat([c, torch.narrow(start_c, 0, old, size - old)], 0)
                own = torch.narrow(rows, 0, begins[at], size)
                columns = torch.linear(h, params[first + 1], b_hh)
                if cell == "gru":
                    h = gru_step(own, columns, h)
                elif cell == "lstm":
                    h, c = lstm_step(own + columns, c)
                    if isProjected:
                        h = torch.linear(h, params[first + each - 1], None)
                elif cell == "rnn_tanh":
                    h = torch.tanh(own + columns)
                else:
                    h = torch.relu(own + columns)
                found.append(h)
            ended_h.append(h)
            ended_c.append(c)
            ended_h.reverse()
            ended_c.reverse()
            hiddens.append(torch.cat(ended_h, 0))
            cells.append(torch.cat(ended_c, 0))
            if direction == 1:
                found.reverse()
            outputs.append(torch.cat(found, 0))
        taken = torch.cat(outputs, -1)
        if dropout > 0. and train and layer < num_layers - 1:
            taken = torch.dropout(taken, dropout, True)
    return taken, torch.stack(hiddens, 0), torch.stack(cells, 0)`,
  product_slopes: `
def product_slopes(grad, equation: str, tensors: List[Tensor]):
    plain = equation.replace(" ", "").replace("...", ".")
    sides = plain.split("->")
    operands = sides[0].split(",")
    result = ""
    if len(sides) > 1:
        result = sides[1]
    else:
        if "." in plain:
            result = "."
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
            if sides[0].count(letter) == 1:
                result = result + letter
    slopes: List[Tensor] = []
    for k in range(len(operands)):
        own = operands[k]
        given: List[Tensor] = [grad]
        inputs = result
        for j in range(len(operands)):
            if j != k:
                inputs = inputs + "," + operands[j]
                given.append(torch.conj(tensors[j]))
        seen = ""
        wanted = ""
        size = tensors[k].size()
        missing: List[int] = []
        ellipsis = len(size) - (len(own) - 1)
        d = 0
        for letter in own:
            if letter == ".":
                wanted = wanted + letter
                d += ellipsis
            elif letter in seen:
                fresh = ""
                for candidate in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
                    if fresh == "" and candidate not in plain and candidate not in wanted:
                        fresh = candidate
                inputs = inputs + "," + letter + fresh
                given.append(torch.eye(size[d], dtype=grad.dtype))
                wanted = wanted + fresh
                d += 1
            else:
                seen = seen + letter
                if letter in inputs or own.count(letter) > 1:
                    wanted = wanted + letter
                else:
                    missing.append(d)
                d += 1
        slope = torch.einsum((inputs + "->" + wanted).replace(".", "..."), given)
        for at in missing:
            slope = slope.unsqueeze(at)
        slopes.append(torch.sum_to_size(slope, size) if len(missing) == 0 else torch.expand(slope, size))
    return slopes`,
  lengths_in: `
def lengths_in(lengths):
    found: List[int] = []
    for at in range(lengths.size(0)):
        found.append(int(lengths[at]))
    return found`,
  log_of_sum: `
def log_of_sum(parts):
    # Of what is nowhere possible there is a gradient too: zero.
    never = -float("inf")
    most = torch.amax(parts.detach(), [0])
    isNever = most == never
    total = torch.sum(torch.exp(parts - torch.masked_fill(most, isNever, 0)), [0])
    return torch.masked_fill(torch.log(torch.masked_fill(total, isNever, 1)) + most, isNever, never)`,
  alignment_loss: `
def alignment_loss(steps, labels, blank: int):
    count = labels.size(0)
    blanks = torch.full([count + 1], blank, dtype=labels.dtype)
    if count > 0:
        spread = torch.cat([torch.stack([torch.narrow(blanks, 0, 0, count), labels], 1).reshape([-1]), torch.narrow(blanks, 0, count, 1)], 0)
    else:
        spread = blanks
    states = spread.size(0)
    never = torch.full([1], -float("inf"), dtype=steps.dtype)
    if steps.size(0) == 0:
        return torch.zeros([], dtype=steps.dtype) if count == 0 else -never.reshape([])
    scores = torch.index_select(steps, 1, spread)
    start = torch.narrow(scores[0], 0, 0, min(2, states))
    alpha = torch.cat([start, never.expand([states - start.size(0)])], 0)
    skips = torch.zeros([states], dtype=steps.dtype)
    if states > 2:
        differs = torch.narrow(spread, 0, 2, states - 2) != torch.narrow(spread, 0, 0, states - 2)
        skips = torch.cat([torch.zeros([2], dtype=steps.dtype), differs.to(steps.dtype)], 0)
    for at in range(1, steps.size(0)):
        one = torch.cat([never, torch.narrow(alpha, 0, 0, states - 1)], 0)
        two = torch.cat([never, torch.narrow(one, 0, 0, states - 1)], 0)
        two = torch.where(skips != 0, two, never)
        alpha = log_of_sum(torch.stack([alpha, one, two], 0)) + scores[at]
    ends = torch.narrow(alpha, 0, max(states - 2, 0), min(2, states))
    return -log_of_sum(ends)`,
  class_loss_slope: `
def class_loss_slope(grad, self, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    axis = 0 if self.dim() == 1 else 1
    along = [-1] + [1] * (self.dim() - 1 - axis)
    labels = target.unsqueeze(axis)
    kept = labels != ignore_index
    hits = torch.logical_and(kept, labels == torch.arange(self.size(axis)).reshape(along))
    slopes = -grad
    if reduction == 0:
        slopes = slopes.unsqueeze(axis)
    if weight is None:
        if reduction == 1:
            slopes = slopes / torch.sum(kept.to(self.dtype))
    else:
        weights = weight.reshape(along)
        if reduction == 1:
            slopes = slopes / torch.sum(torch.where(hits, weights, 0.))
        slopes = slopes * weights
    return torch.where(hits, slopes, 0.)`,
  multilabel_margins: `
def multilabel_margins(self, target):
    given = self.reshape([1, -1]) if self.dim() < 2 else self
    labels = target.reshape([1, -1]) if self.dim() < 2 else target
    listed = torch.cumprod((labels >= 0).to(self.dtype), 1)
    places = torch.clamp_min(labels, 0)
    hits = torch.clamp_max(torch.scatter_add(torch.zeros_like(given), 1, places, listed), 1)
    chosen = torch.gather(given, 1, places)
    margins = torch.clamp_min(1 - chosen.unsqueeze(2) + given.unsqueeze(1), 0)
    loss = torch.sum(margins * listed.unsqueeze(2) * (1 - hits).unsqueeze(1), [1, 2]) / given.size(1)
    return loss.reshape([]) if self.dim() < 2 else loss`,
  bag_slopes: `
def bag_slopes(grad, weight, indices, offsets, scale_grad_by_freq: bool, mode: int, per_sample_weights: Optional[Tensor], include_last_offset: bool, padding_idx: Optional[int]):
    flat = indices.reshape([-1])
    if indices.dim() == 2:
        bags = torch.arange(indices.size(0)).repeat_interleave(indices.size(1))
        count = indices.size(0)
    else:
        count = offsets.size(0) - 1 if include_last_offset else offsets.size(0)
        bags = torch.searchsorted(torch.narrow(offsets, 0, 0, count), torch.arange(flat.size(0)), right=True) - 1
    kept = torch.ones([flat.size(0)], dtype=grad.dtype)
    if padding_idx is not None:
        kept = (flat != padding_idx).to(grad.dtype)
    rows = torch.index_select(grad, 0, bags)
    sample_slope = torch.sum(rows * torch.index_select(weight, 0, flat), [1]) * kept
    if mode == 2:
        chosen = torch.index_select(weight, 0, flat)
        shape = [count, weight.size(1)]
        places = bags.unsqueeze(1).expand_as(chosen)
        low = torch.where(kept.unsqueeze(1) != 0, chosen, torch.full_like(chosen, -float("inf")))
        best = torch.scatter_reduce(torch.zeros(shape, dtype=grad.dtype), 0, places, low, "amax", include_self=False)
        hit = torch.logical_and(low == torch.index_select(best, 0, bags), kept.unsqueeze(1) != 0)
        order = torch.arange(flat.size(0)).unsqueeze(1).expand_as(chosen)
        late = torch.full_like(order, flat.size(0))
        first = torch.scatter_reduce(torch.full(shape, flat.size(0), dtype=order.dtype), 0, places, torch.where(hit, order, late), "amin", include_self=True)
        rows = torch.where(order == torch.index_select(first, 0, bags), rows, torch.zeros_like(rows))
    else:
        rows = rows * kept.unsqueeze(1)
        if mode == 1:
            sizes = torch.index_add(torch.zeros([count], dtype=grad.dtype), 0, bags, kept)
            rows = rows / torch.index_select(torch.clamp_min(sizes, 1), 0, bags).unsqueeze(1)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.reshape([-1, 1])
    if scale_grad_by_freq:
        frequencies = torch.bincount(flat, None, weight.size(0))
        rows = rows / torch.index_select(frequencies, 0, flat).unsqueeze(1)
    return torch.index_add(torch.zeros_like(weight), 0, flat, rows), sample_slope.reshape(indices.size())`,
};
