/** What formulas of Fourier transforms and of resizing call. */
export const transformHelpers: Readonly<Record<string, string>> = {
  fitted_to: `
def fitted_to(x, dim: int, length: int):
    own = x.size(dim)
    if own >= length:
        return torch.narrow(x, dim, 0, length)
    shape = x.size()
    shape[dim] = length - own
    return torch.cat([x, torch.zeros(shape, dtype=x.dtype)], dim)`,
  turned_norm: `
def turned_norm(norm: Optional[str]) -> str:
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else "ortho"`,
  real_transform_slope: `
def real_transform_slope(grad, n: int, dim: int, norm: Optional[str], length: int, isInverse: bool):
    whole = fitted_to(grad, dim, n)
    if isInverse:
        back = torch.fft_fft(whole, n, dim, turned_norm(norm))
    else:
        back = torch.fft_ifft(whole, n, dim, turned_norm(norm))
    return fitted_to(torch.real(back), dim, length)`,
  halved_transform_slope: `
def halved_transform_slope(grad, dim: int, norm: Optional[str], length: int, isHermitian: bool):
    n = grad.size(dim)
    half = torch.fft_rfft(grad, n, dim, turned_norm(norm) if not isHermitian else norm)
    if isHermitian:
        half = torch.conj(half)
    middle = n - half.size(dim)
    if middle > 0:
        first = torch.narrow(half, dim, 0, 1)
        twice = torch.narrow(half, dim, 1, middle) * 2
        last = torch.narrow(half, dim, 1 + middle, half.size(dim) - 1 - middle)
        half = torch.cat([first, twice, last], dim)
    return fitted_to(half, dim, length)`,
  several_transforms: `
def several_transforms(self, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], name: str):
    dims = [d for d in range(self.dim())]
    if dim is not None:
        dims = dim
    elif s is not None:
        dims = [d - len(s) for d in range(len(s))]
    count = len(dims)
    result = self
    if count == 0 and not self.is_complex():
        return torch.complex(self, torch.zeros_like(self))
    for at in range(count):
        which = count - 1 - at if name == "rfft" or name == "ihfft" else at
        d = dims[which]
        isHalf = which == count - 1
        n: Optional[int] = None
        if s is not None and s[which] != -1:
            n = s[which]
        if name == "fft" or (name == "rfft" and not isHalf) or (name == "hfft" and not isHalf):
            result = torch.fft_fft(result, n, d, norm)
        elif name == "ifft" or not isHalf:
            result = torch.fft_ifft(result, n, d, norm)
        elif name == "rfft":
            result = torch.fft_rfft(result, n, d, norm)
        elif name == "irfft":
            result = torch.fft_irfft(result, n, d, norm)
        elif name == "hfft":
            result = torch.fft_hfft(result, n, d, norm)
        else:
            result = torch.fft_ihfft(result, n, d, norm)
    return result`,
  short_time_window: `
def short_time_window(window: Optional[Tensor], width: int, n_fft: int, self):
    taper = torch.ones([width], dtype=torch.real(self).dtype)
    if window is not None:
        taper = window
    left = (n_fft - width) // 2
    return torch.constant_pad_nd(taper, [left, n_fft - width - left], 0)`,
  short_time: `
def short_time(self, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]):
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    width = n_fft if win_length is None else win_length
    taper = short_time_window(window, width, n_fft, self)
    given = self.unsqueeze(0) if self.dim() == 1 else self
    frames = given.unfold(-1, n_fft, hop) * taper
    isHalf = not self.is_complex()
    if onesided is not None:
        isHalf = onesided
    norm = "ortho" if normalized else "backward"
    spectrum = torch.fft_rfft(frames, None, -1, norm) if isHalf else torch.fft_fft(frames, None, -1, norm)
    spectrum = torch.transpose(spectrum, 1, 2)
    if self.dim() == 1:
        spectrum = spectrum.squeeze(0)
    if return_complex is None and (self.is_complex() or taper.is_complex()) or return_complex is not None and return_complex:
        return spectrum
    return torch.view_as_real(spectrum.contiguous())`,
  given_scales: `
def given_scales(scale_factors: Optional[List[float]], rank: int):
    scales: List[Optional[float]] = []
    for at in range(rank):
        scale: Optional[float] = None
        if scale_factors is not None:
            scale = scale_factors[at]
        scales.append(scale)
    return scales`,
  resized_lines: `
def resized_lines(lines, count: int, name: str, align: bool, scale: Optional[float]):
    given = lines.unsqueeze(0)
    if name.startswith("upsample_nearest"):
        return torch.upsample_nearest1d(given, [count], scale).squeeze(0)
    if name.startswith("_upsample_nearest_exact"):
        return torch._upsample_nearest_exact1d(given, [count], scale).squeeze(0)
    wide = given.unsqueeze(-1)
    if name == "upsample_bicubic2d":
        return torch.upsample_bicubic2d(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_bilinear2d_aa":
        return torch._upsample_bilinear2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_bicubic2d_aa":
        return torch._upsample_bicubic2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_lanczos2d_aa":
        return torch._upsample_lanczos2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    return torch.upsample_linear1d(given, [count], align, scale).squeeze(0)`,
  resize_reach: `
def resize_reach(length: int, count: int, name: str):
    # So many places that follow each other are all that one result is made of, at most.
    if "nearest" in name:
        return 1
    if not name.endswith("_aa"):
        return 4 if name == "upsample_bicubic2d" else 2
    radius = 1 if name == "_upsample_bilinear2d_aa" else 3
    return 2 * radius * max(1, (length + count - 1) // count) + 2`,
  resize_band: `
def resize_band(grad, length: int, name: str, align: bool, scale: Optional[float]):
    # Of places that lie so far apart no two are in one result: lines with ones in all of these tell the weights, and lines with numbers which place each is of.
    count = grad.size(-1)
    apart = resize_reach(length, count, name)
    dtype = 6 if grad.dtype == 5 or grad.dtype == 15 else grad.dtype
    places = torch.arange(length)
    first = torch.arange(apart).unsqueeze(1)
    combs = (torch.remainder(places, apart) == first).to(dtype)
    weights = resized_lines(combs, count, name, align, scale)
    numbers = resized_lines(combs * torch.floor_divide(places, apart), count, name, align, scale)
    isIn = weights != 0
    which = torch.round(numbers / torch.where(isIn, weights, torch.ones_like(weights)))
    sources = torch.where(isIn, which.to(4) * apart + first, torch.zeros_like(which, dtype=4)).flatten()
    parts = torch.flatten(grad.to(dtype).unsqueeze(-2) * weights, -2, -1)
    sizes = grad.size()
    sizes[-1] = length
    return torch.scatter_add(torch.zeros(sizes, dtype=dtype), -1, sources.expand(parts.size()), parts).to(grad.dtype)`,
  resize_slope: `
def resize_slope(grad, size: List[int], name: str, align: bool, scales: List[Optional[float]]):
    result = grad
    for at in range(len(scales)):
        d = len(size) - len(scales) + at
        moved = torch.transpose(result, d, -1)
        length = size[d]
        # A matrix of all places and all results, as long as that is small.
        if length * grad.size(d) <= 65536:
            matrix = resized_lines(torch.eye(length, dtype=grad.dtype), grad.size(d), name, align, scales[at])
            moved = torch.matmul(moved, torch.transpose(matrix, 0, 1))
        else:
            moved = resize_band(moved, length, name, align, scales[at])
        result = torch.transpose(moved, d, -1)
    return result`,
  grid_reflected: `
def grid_reflected(at, low: float, high: float):
    span = high - low
    if span <= 0.:
        return torch.zeros_like(at)
    away = torch.abs(at - low)
    turns = torch.floor(away / span)
    extra = away - turns.detach() * span
    isEven = torch.remainder(turns, 2) == 0
    return torch.where(isEven, extra + low, span - extra + low)`,
  grid_inside: `
def grid_inside(at, length: int, padding: int, align: bool):
    if padding == 1:
        return torch.clamp(at, 0., float(length - 1))
    if padding == 2:
        turned_in = grid_reflected(at, 0., float(length - 1)) if align else grid_reflected(at, -0.5, float(length) - 0.5)
        return torch.clamp(turned_in, 0., float(length - 1))
    return at`,
  grid_values: `
def grid_values(input, places: List[Tensor], padding: int, align: bool, fold: bool):
    rank = len(places)
    flat = torch.flatten(input, 2, -1)
    spot = torch.zeros_like(places[0], dtype=4)
    inside = torch.ones_like(spot, dtype=11)
    for d in range(rank):
        length = input.size(d + 2)
        place = grid_inside(places[d], length, padding, align) if fold else places[d]
        whole = place.detach().to(4)
        within = torch.logical_and(whole >= 0, whole < length)
        inside = torch.logical_and(inside, within)
        spot = spot * length + torch.clamp(whole, 0, length - 1)
    count = spot.numel() // spot.size(0)
    index = spot.reshape([spot.size(0), 1, count]).expand([input.size(0), input.size(1), count])
    found = torch.gather(flat, 2, index).reshape([input.size(0), input.size(1)] + spot.size()[1:])
    return torch.where(inside.unsqueeze(1), found, torch.zeros_like(found))`,
  grid_samples: `
def grid_samples(input, grid, mode: int, padding: int, align: bool):
    rank = input.dim() - 2
    places: List[Tensor] = []
    for d in range(rank):
        own = torch.select(grid, -1, rank - 1 - d)
        length = input.size(d + 2)
        at = (own + 1) / 2 * (length - 1) if align else ((own + 1) * length - 1) / 2
        places.append(at if mode == 2 else grid_inside(at, length, padding, align))
    if mode == 1:
        # The grid chooses elements, and has a gradient all the same: of zeros.
        chosen = grid_values(input, [torch.round(place) for place in places], padding, align, False)
        own = torch.select(grid, -1, 0)
        return chosen + torch.masked_fill(own, torch.ones_like(own, dtype=11), 0).unsqueeze(1)
    floors = [torch.floor(place).detach() for place in places]
    parts = [places[d] - floors[d] for d in range(rank)]
    result = torch.zeros([input.size(0), input.size(1)] + grid.size()[1:-1], dtype=input.dtype)
    if mode == 0:
        for corner in range(8 if rank == 3 else 4):
            weight = torch.ones_like(parts[0])
            spots: List[Tensor] = []
            for d in range(rank):
                side = (corner // [1, 2, 4][d]) % 2
                weight = weight * (parts[d] if side == 1 else 1 - parts[d])
                spots.append(floors[d] + side)
            result = result + grid_values(input, spots, padding, align, False) * weight.unsqueeze(1)
        return result
    for i in range(4):
        row = torch.zeros_like(result)
        for j in range(4):
            spots = [floors[0] + (i - 1), floors[1] + (j - 1)]
            row = row + grid_values(input, spots, padding, align, True) * cubic_weight(parts[1], j).unsqueeze(1)
        result = result + row * cubic_weight(parts[0], i).unsqueeze(1)
    return result`,
  cubic_weight: `
def cubic_weight(t, at: int):
    a = -0.75
    x = torch.abs(t + (1 - at))
    if at == 1 or at == 2:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a`,
};
