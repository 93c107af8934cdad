import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/**
 * Sequences of different lengths laid step after step, and back (ATen/native/PackedSequence.cpp). Lengths decide sizes, so
 * they are read on the host; elements move by one index_select, wherever they are.
 */
export const packedSequenceRows: readonly OperatorRow[] = [
  decomposed(
    'aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side="right") -> Tensor',
    `
def pad_sequence(sequences: List[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    assert len(sequences) > 0, "received an empty list of sequences"
    assert padding_side == "left" or padding_side == "right", f"Expected padding_side to be one of left or right, but got {padding_side}."
    longest = 0
    for sequence in sequences:
        longest = max(longest, sequence.size(0))
    padded: List[Tensor] = []
    for sequence in sequences:
        missing = longest - sequence.size(0)
        borders: List[int] = []
        for at in range(sequence.dim() - 1):
            borders.append(0)
            borders.append(0)
        if padding_side == "left":
            borders.append(missing)
            borders.append(0)
        else:
            borders.append(0)
            borders.append(missing)
        padded.append(torch.constant_pad_nd(sequence, borders, padding_value))
    dim = 1
    if batch_first:
        dim = 0
    return torch.stack(padded, dim)
`,
  ),
  decomposed(
    'aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)',
    `
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> Tuple[Tensor, Tensor]:
    assert input.numel() > 0, "Cannot pack empty tensors."
    steps = input
    if batch_first:
        steps = input.transpose(0, 1)
    batch = steps.size(1)
    counts: List[int] = lengths.tolist()
    assert len(counts) == batch, f"Expected \`len(lengths)\` to be equal to batch_size, but got {len(counts)} (batch_size={batch})"
    for at in range(batch):
        assert counts[at] > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        if at > 0:
            assert counts[at - 1] >= counts[at], "\`lengths\` array must be sorted in decreasing order when \`enforce_sorted\` is True. You can pass \`enforce_sorted=False\` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
    longest = counts[0]
    rows: List[int] = []
    batch_sizes: List[int] = []
    count = batch
    for t in range(longest):
        while counts[count - 1] <= t:
            count -= 1
        batch_sizes.append(count)
        for at in range(count):
            rows.append(t * batch + at)
    sizes = steps.size()
    flat = steps.narrow(0, 0, longest).reshape([longest * batch] + sizes[2:])
    return flat.index_select(0, torch.tensor(rows)), torch.tensor(batch_sizes)
`,
  ),
  decomposed(
    'aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)',
    `
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: number,
                         total_length: int) -> Tuple[Tensor, Tensor]:
    counts: List[int] = batch_sizes.tolist()
    longest = len(counts)
    batch = counts[0]
    steps = longest
    if total_length > 0:
        assert total_length >= longest, f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total_length} and max sequence length being {longest}"
        steps = total_length
    rows: List[int] = []
    missing: List[bool] = []
    lengths: List[int] = []
    for at in range(batch):
        lengths.append(0)
    start = 0
    for t in range(steps):
        count = 0
        if t < longest:
            count = counts[t]
        for at in range(batch):
            missing.append(at >= count)
            if at < count:
                rows.append(start + at)
                lengths[at] += 1
            else:
                rows.append(0)
        start += count
    rest = data.size()[1:]
    ones: List[int] = []
    for size in rest:
        ones.append(1)
    padded = data.index_select(0, torch.tensor(rows)).reshape([steps, batch] + rest)
    padded = padded.masked_fill(torch.tensor(missing).reshape([steps, batch] + ones), padding_value)
    if batch_first:
        padded = padded.transpose(0, 1)
    return padded, torch.tensor(lengths)
`,
  ),
];
