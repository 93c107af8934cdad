import { forOverloads, type DerivativeTable } from './derivative.ts';

/** The transforms over several dimensions, one after the other; the one of halves is the last, or the first on its way back. */
const several = (name: string, dims: string): DerivativeTable[string] => ({
  '=': `several_transforms(self, s, ${dims}, norm, "${name}")`,
});

const shared = (name: string): DerivativeTable => ({
  [`fft_${name}2`]: several(name, 'dim'),
  [`fft_${name}n`]: several(name, 'dim'),
});

const scaling = `
scale = 1.
for d in dim:
    scale *= SIZE
factor = 1. if normalization == 0 else (scale ** -0.5 if normalization == 1 else 1. / scale)`;

/** Fourier transforms, which are linear: their gradients are transforms in the other direction. */
export const fourierDerivatives: DerivativeTable = {
  fft_fft: { self: 'fitted_to(torch.fft_ifft(grad, None, dim, turned_norm(norm)), dim, self.size(dim))' },
  fft_ifft: { self: 'fitted_to(torch.fft_fft(grad, None, dim, turned_norm(norm)), dim, self.size(dim))' },
  fft_rfft: {
    self: 'real_transform_slope(grad, self.size(dim) if n is None else n, dim, norm, self.size(dim), False)',
  },
  fft_ihfft: {
    self: 'real_transform_slope(grad, self.size(dim) if n is None else n, dim, norm, self.size(dim), True)',
  },
  fft_irfft: { self: 'halved_transform_slope(grad, dim, norm, self.size(dim), False)' },
  fft_hfft: { self: 'halved_transform_slope(grad, dim, norm, self.size(dim), True)' },
  ...shared('fft'),
  ...shared('ifft'),
  ...shared('rfft'),
  ...shared('irfft'),
  ...shared('hfft'),
  ...shared('ihfft'),
  _fft_c2c: {
    self: `${scaling.replace('SIZE', 'grad.size(d)')}
back = torch.fft_ifftn(grad, None, dim, "forward") if forward else torch.fft_fftn(grad, None, dim, "backward")
return back * factor`,
  },
  _fft_r2c: {
    self: `${scaling.replace('SIZE', 'self.size(d)')}
last = dim[len(dim) - 1]
whole = grad
if onesided:
    shape = grad.size()
    shape[last] = self.size(last) - grad.size(last)
    whole = torch.cat([grad, torch.zeros(shape, dtype=grad.dtype)], last)
return torch.real(torch.fft_ifftn(whole, None, dim, "forward")) * factor`,
  },
  _fft_c2r: {
    self: `${scaling.replace('SIZE', 'grad.size(d)')}
last = dim[len(dim) - 1]
half = torch.fft_rfftn(grad, None, dim, "backward") * factor
middle = grad.size(last) - half.size(last)
if middle > 0:
    torch.narrow(half, last, 1, middle).mul_(2)
return half`,
  },
  fft_fftshift: { self: 'torch.fft_ifftshift(grad, dim)' },
  fft_ifftshift: { self: 'torch.fft_fftshift(grad, dim)' },
  ...forOverloads('stft', {
    '=': 'short_time(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)',
  }),
  'stft.center': {
    '=': `
given = self
if center:
    wide = self.unsqueeze(0) if self.dim() == 1 else self
    padded = torch.pad(wide.unsqueeze(1), [n_fft // 2, n_fft // 2], pad_mode).squeeze(1)
    given = padded.squeeze(0) if self.dim() == 1 else padded
return short_time(given, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)`,
  },
  istft: {
    '=': `
given = self if self.is_complex() else torch.view_as_complex(self.contiguous())
spectrum = given.unsqueeze(0) if given.dim() == 2 else given
width = n_fft if win_length is None else win_length
hop = n_fft // 4
if hop_length is not None:
    hop = hop_length
whole = spectrum.size(1) == n_fft if onesided is None else not onesided
taper = short_time_window(window, width, n_fft, spectrum)
frames = torch.transpose(spectrum, 1, 2)
norm = "ortho" if normalized else "backward"
if return_complex:
    parts = torch.fft_ifft(frames, n_fft, -1, norm)
elif whole:
    parts = torch.fft_irfft(torch.narrow(frames, -1, 0, n_fft // 2 + 1), n_fft, -1, norm)
else:
    parts = torch.fft_irfft(frames, n_fft, -1, norm)
parts = parts * taper
count = parts.size(1)
total = n_fft + hop * (count - 1)
places = (torch.arange(count).unsqueeze(1) * hop + torch.arange(n_fft).unsqueeze(0)).reshape([-1])
signal = torch.index_add(torch.zeros([parts.size(0), total], dtype=parts.dtype), 1, places, parts.reshape([parts.size(0), -1]))
squares = (taper * taper).unsqueeze(0).expand([count, n_fft]).reshape([-1])
envelope = torch.index_add(torch.zeros([total], dtype=squares.dtype), 0, places, squares)
begin = n_fft // 2 if center else 0
end = total - begin if length is None else begin + length
stop = min(end, total)
result = torch.narrow(signal, 1, begin, stop - begin) / torch.narrow(envelope, 0, begin, stop - begin)
if end > total:
    result = torch.constant_pad_nd(result, [0, end - total], 0)
return result.squeeze(0) if given.dim() == 2 else result`,
  },
};
