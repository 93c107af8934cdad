# What make_cases.py runs. `r` and `ints` make tensors, `case` runs an operator.

# Matrix products
case("mm", r(5, 7), r(7, 6))
case("mm", r(7, 5).t(), r(6, 7).t())
case("mm", ints(3, 4), ints(4, 5))
case("mm", torch.tensor([[2**40, 3]]), torch.tensor([[2**40], [5]]))
case("mm", r(3, 4, dtype=torch.float16), r(4, 2, dtype=torch.float16))
case("mm", torch.complex(r(3, 2), r(3, 2)), torch.complex(r(2, 3), r(2, 3)))
case("mm", r(2, 0), r(0, 3))
case("mm", r(2, 3), r(2, 3))
case("mm", r(2, 3), ints(3, 2))
case("bmm", r(3, 5, 4), r(3, 4, 6))
case("bmm", r(3, 5, 4), r(2, 4, 6))
for left, right in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4, 5)),
                    ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 3)), ((5, 1, 4), (5, 4, 1)), ((2, 3, 5, 4), (2, 3, 4, 6))]:
    case("matmul", r(*left), r(*right))
case("matmul", r(2, 3), r(2, 3))
case("matmul", r(2, 2, 3), r(2, 2, 3))
case("matmul", r(4, 2, 3, 3), r(3, 3, 3))
case("mv", r(5, 4), r(4))
case("mv", r(2, 3), r(2))
case("dot", r(9), r(9))
case("dot", r(3), r(4))
case("vdot", torch.complex(r(3), r(3)), torch.complex(r(3), r(3)))
case("linalg_vecdot", r(3, 4), r(2, 3, 4), dim=-2)
case("addmm", r(4), r(3, 2), r(2, 4))
case("addmm", r(3, 4), r(3, 2), r(2, 4), beta=0.5, alpha=2)
case("addmm", torch.full((3, 4), float("nan")), r(3, 2), r(2, 4), beta=0)
case("addmm", r(3, 3), r(2, 3), r(3, 2))
case("addmv", r(3), r(3, 2), r(2), beta=2, alpha=3)
case("addmv", r(1), r(3, 2), r(2))
case("baddbmm", r(2, 1, 4), r(2, 3, 5), r(2, 5, 4), beta=0.5, alpha=-1)
case("addbmm", r(3, 4), r(2, 3, 5), r(2, 5, 4), beta=2)
case("linear", r(5, 7), r(6, 7), r(6))
case("linear", r(2, 3, 7), r(6, 7), r(6))
case("linear", r(7), r(6, 7), r(6))
case("linear", r(2, 3, 7).transpose(0, 1), r(6, 7))
case("linear", r(3, 7), r(7))
case("linear", r(2, 3), r(2, 2))
case("linalg_multi_dot", [r(3, 2), r(2, 5), r(5, 4), r(4)])
case("einsum", "ij,jk->ik", [r(3, 4), r(4, 5)])
case("einsum", "bhid,bhjd->bhij", [r(2, 3, 4, 5), r(2, 3, 6, 5)])
case("einsum", "ii->i", [r(4, 4)])
case("einsum", "...ij->...ji", [r(2, 3, 4)])
case("einsum", "ij->", [r(3, 4)])
case("einsum", "i,j", [r(3), r(4)])
case("einsum", "ij,ik,il->jkl", [r(3, 2), r(3, 4), r(3, 2)])
case("einsum", "...ij,...jk->...ik", [r(2, 1, 3, 4), r(5, 4, 2)])
case("einsum", "bij,bjk->bik", [ints(2, 3, 4), ints(2, 4, 2)])
case("einsum", "ij,jk->ik", [r(2, 3), r(2, 3)])
case("tensordot", r(3, 4, 5), r(4, 3, 2), [1, 0], [0, 1])
case("inner", r(2, 3), r(4, 3))

# Convolutions
case("conv1d", r(2, 3, 11), r(5, 3, 3), r(5), padding=[1], stride=[2])
case("conv1d", r(3, 11), r(5, 3, 3), dilation=[2])
case("conv1d.padding", r(2, 3, 11), r(4, 3, 4), r(4), padding="same", dilation=[2])
case("conv1d", r(2, 4, 9), r(6, 2, 3), r(6), groups=2)
case("conv2d", r(2, 3, 7, 6), r(5, 3, 3, 2), r(5), stride=[2, 1], padding=[1, 0])
case("conv2d", r(1, 3, 5, 5), r(4, 3, 1, 1), r(4))
case("conv2d", r(1, 6, 7, 7), r(6, 1, 3, 3), r(6), padding=[1, 1], groups=6)
case("conv2d", r(1, 3, 7, 7), r(6, 1, 3, 3), padding=[1, 1], stride=[2, 2], groups=3)
case("conv2d", nchw(r(2, 3, 6, 5)), r(4, 3, 3, 3), dilation=[1, 2], padding=[2, 2])
case("conv2d", r(3, 6, 5), r(4, 3, 3, 3))
case("conv2d", r(1, 1, 5, 5), r(2, 3, 3, 3))
case("conv2d", r(1, 3, 2, 2), r(2, 3, 3, 3))
case("conv2d", torch.complex(r(1, 2, 4, 4), r(1, 2, 4, 4)), torch.complex(r(3, 2, 2, 2), r(3, 2, 2, 2)), torch.complex(r(3), r(3)))
case("conv3d", r(1, 2, 4, 5, 4), r(3, 2, 2, 3, 2), r(3), padding=[1, 0, 1])
case("conv_transpose1d", r(2, 3, 6), r(3, 4, 3), r(4), stride=[2], padding=[1], output_padding=[1])
case("conv_transpose2d.input", r(2, 4, 4, 3), r(4, 3, 3, 2), r(6), stride=[2, 2], groups=2)
case("conv_transpose2d.input", r(1, 4, 4, 3), r(4, 5, 3, 3), r(5), stride=[1, 2], padding=[1, 1], dilation=[2, 2])
case("conv_transpose3d.input", r(1, 2, 3, 2, 3), r(2, 3, 2, 2, 2), stride=[2, 2, 2])
case("convolution", r(2, 4, 6), r(4, 4, 3), r(4), [1], [0], [1], False, [0], 1)

# Pools
case("max_pool1d", r(2, 3, 9), [3], [2], [1], [1], True)
case("max_pool2d", r(2, 3, 7, 6), [3, 2], [2, 2], [1, 1])
case("max_pool2d", r(1, 2, 8, 8), [2], [], [0], [2])
case("max_pool2d_with_indices", r(2, 2, 7, 6), [3, 3], [2, 2], [1, 1], [1, 1], True)
case("max_pool2d_with_indices", ints(1, 2, 5, 5), [2, 2])
case("max_pool3d_with_indices", r(1, 2, 4, 5, 4), [2, 2, 2], [2, 1, 2], [1, 0, 1])
case("max_pool2d", r(1, 1, 4, 4), [2, 2], [1, 1], [2, 2])
case("avg_pool1d", r(2, 3, 9), [3], [2], [1])
case("avg_pool2d", r(2, 3, 7, 6), [3, 2], [2, 2], [1, 1])
case("avg_pool2d", r(2, 3, 7, 6), [3, 3], [2, 2], [1, 1], True, False)
case("avg_pool2d", r(1, 2, 6, 6), [3], [2], [0], True, True, 5)
case("avg_pool3d", r(1, 2, 4, 5, 4), [2, 3, 2], [1, 2, 2], [1, 1, 0])
case("adaptive_avg_pool1d", r(2, 3, 10), [4])
case("adaptive_avg_pool2d", r(2, 3, 7, 6), [1, 1])
case("adaptive_avg_pool2d", r(2, 3, 7, 6), [3, 4])
case("adaptive_avg_pool3d", r(1, 2, 4, 5, 6), [2, 2, 3])
case("adaptive_max_pool1d", r(2, 3, 10), [4])
case("adaptive_max_pool2d", r(2, 3, 7, 6), [3, 4])

# Norms
case("layer_norm", r(3, 4, 5), [5], r(5), r(5))
case("layer_norm", r(3, 4, 5).transpose(0, 2), [4, 3], r(4, 3), r(4, 3))
case("native_layer_norm", r(3, 4, 5), [4, 5], None, None, 1e-5)
case("layer_norm", r(2, 3), [5])
case("rms_norm", r(3, 4), [4], r(4), 1e-6)
case("group_norm", r(2, 6, 3, 4), 3, r(6), r(6))
case("native_group_norm", r(2, 6, 5), r(6), r(6), 2, 6, 5, 2, 1e-5)
case("group_norm", r(2, 3), 2)
case("batch_norm", r(3, 4, 5), r(4), r(4), r(4), r(4).abs(), False, 0.1, 1e-5, True)
case("batch_norm", r(3, 4), None, None, r(4), r(4).abs(), False, 0.1, 1e-5, True)
case("native_batch_norm", r(3, 4, 2, 3), r(4), r(4), r(4), r(4).abs(), True, 0.1, 1e-5)
case("instance_norm", r(2, 3, 4, 5), r(3), r(3), None, None, True, 0.1, 1e-5, True)

# Softmax
case("softmax.int", r(3, 4, 5), 1)
case("softmax.int", r(3, 4, 5).transpose(0, 2), -1)
case("softmax.int", ints(3, 4), 1, torch.float32)
case("softmax.int", ints(3, 4), 1)
case("log_softmax.int", r(3, 7), -1)
case("_safe_softmax", torch.full((2, 3), float("-inf")), 1)
case("softmax.int", torch.tensor(2.0), 0)

# Attention
for kw in [{}, {"is_causal": True}, {"scale": 0.5}]:
    case("scaled_dot_product_attention", r(2, 3, 5, 4), r(2, 3, 6, 4), r(2, 3, 6, 7), **kw)
case("scaled_dot_product_attention", r(2, 5, 4), r(2, 5, 4), r(2, 5, 4), is_causal=True)
case("scaled_dot_product_attention", r(2, 3, 5, 4), r(2, 3, 6, 4), r(2, 3, 6, 4), r(5, 6))
case("scaled_dot_product_attention", r(2, 3, 5, 4), r(2, 3, 6, 4), r(2, 3, 6, 4), r(2, 1, 5, 6) > 0)
case("scaled_dot_product_attention", r(2, 4, 5, 4), r(2, 2, 6, 4), r(2, 2, 6, 4), enable_gqa=True)
case("scaled_dot_product_attention", r(1, 1, 2, 3), r(1, 1, 2, 3), r(1, 1, 2, 3), torch.zeros(2, 2) > 1)
case("scaled_dot_product_attention", r(1, 2, 3, dtype=torch.float16), r(1, 2, 3, dtype=torch.float16), r(1, 2, 3, dtype=torch.float16))
case("scaled_dot_product_attention", r(1, 2, 3), r(1, 2, 3).double(), r(1, 2, 3))
case("scaled_dot_product_attention", r(1, 2, 3), r(1, 2, 4), r(1, 2, 3))
case("_scaled_dot_product_attention_math", r(2, 3, 5, 4), r(2, 3, 6, 4), r(2, 3, 6, 7), r(5, 6) > 0)

# Embedding
case("embedding", r(7, 5), ints(2, 3, low=0, high=7))
case("embedding", r(7, 5, dtype=torch.float16), ints(3, low=0, high=7, dtype=torch.int32), 2)
case("embedding", r(3, 4), torch.tensor([5]))
bags = (r(7, 5), ints(8, low=0, high=7), torch.tensor([0, 3, 3, 6]))
for mode in [0, 1, 2]:
    case("_embedding_bag_forward_only", *bags, False, mode)
    case("_embedding_bag_forward_only", *bags, False, mode, False, None, True, 2)
case("_embedding_bag_forward_only", *bags, False, 0, False, r(8))
case("embedding_bag", *bags, False, 1)

# Recurrent layers
def weights(gates, inputs, hidden, layers=1, directions=1, biases=True, projection=0):
    out = []
    for layer in range(layers):
        for _ in range(directions):
            size = inputs if layer == 0 else (projection or hidden) * directions
            out += [r(gates * hidden, size) / 4, r(gates * hidden, projection or hidden) / 4]
            if biases:
                out += [r(gates * hidden) / 4, r(gates * hidden) / 4]
            if projection:
                out += [r(projection, hidden) / 4]
    return out


case("lstm.input", r(4, 3, 5), [r(1, 3, 6), r(1, 3, 6)], weights(4, 5, 6), True, 1, 0.0, False, False, False)
case("lstm.input", r(3, 4, 5), [r(4, 3, 6), r(4, 3, 6)], weights(4, 5, 6, 2, 2), True, 2, 0.0, False, True, True)
case("lstm.input", r(4, 2, 5), [r(2, 2, 3), r(2, 2, 6)], weights(4, 5, 6, 1, 2, True, 3), True, 1, 0.0, False, True, False)
case("gru.input", r(4, 3, 5), r(4, 3, 6), weights(3, 5, 6, 2, 2), True, 2, 0.0, False, True, False)
case("gru.input", r(4, 3, 5).transpose(0, 1), r(1, 4, 6), weights(3, 5, 6, 1, 1, False), False, 1, 0.0, False, False, False)
case("rnn_tanh.input", r(4, 3, 5), r(1, 3, 6), weights(1, 5, 6), True, 1, 0.0, False, False, False)
case("rnn_relu.input", r(4, 3, 5), r(1, 3, 6), weights(1, 5, 6), True, 1, 0.0, False, False, False)
packed = torch.tensor([3, 2, 2, 1])
case("lstm.data", r(8, 5), packed, [r(4, 3, 6), r(4, 3, 6)], weights(4, 5, 6, 2, 2), True, 2, 0.0, False, True)
case("gru.data", r(8, 5), packed, r(2, 3, 6), weights(3, 5, 6, 1, 2), True, 1, 0.0, False, True)
case("lstm_cell", r(3, 5), [r(3, 6), r(3, 6)], *weights(4, 5, 6))
case("gru_cell", r(3, 5), r(3, 6), *weights(3, 5, 6))
case("rnn_tanh_cell", r(3, 5), r(3, 6), *weights(1, 5, 6, biases=False))
case("rnn_relu_cell", r(3, 5), r(3, 6), *weights(1, 5, 6))
case("_pack_padded_sequence", r(4, 3, 2), torch.tensor([4, 3, 1]), False)
case("_pack_padded_sequence", r(3, 4, 2), torch.tensor([4, 4, 2]), True)
case("_pad_packed_sequence", r(8, 5), packed, True, -1.5, 6)
case("_pad_packed_sequence", r(8, 5), packed, False, 0.0, -1)

# Padding
case("pad", r(2, 3), [1, 2])
case("pad", r(2, 3), [1, 2, -1, 1], "constant", 0.5)
case("constant_pad_nd", ints(2, 3), [1, 2, 0, 1], 7)
case("constant_pad_nd", r(2, 3) > 0, [1, 0], True)
case("pad", r(2, 3, 4), [2, 3], "reflect")
case("pad", r(2, 3, 4, 5), [1, 2, 3, 0], "reflect")
case("pad", r(2, 3, 4, 5), [1, 2, 3, -1], "replicate")
case("pad", r(1, 2, 3, 4, 3), [1, 2, 3, 0, 1, 1], "circular")
case("reflection_pad1d", r(3, 4), [1, 3])
case("replication_pad3d", r(1, 2, 3, 2, 3), [1, 2, 0, 1, 2, 0])
case("pad", r(1, 2, 3), [3, 3], "reflect")
case("pad", r(1, 2, 3), [1, 1], "foo")

# Rearrangement
case("pixel_shuffle", r(2, 8, 3, 2), 2)
case("pixel_shuffle", r(9, 2, 2), 3)
case("pixel_unshuffle", r(2, 2, 4, 6), 2)
case("channel_shuffle", r(2, 6, 3, 2), 3)
case("pixel_shuffle", r(1, 3, 2, 2), 2)

# Resampling
case("upsample_nearest1d", r(2, 3, 5), [8])
case("upsample_nearest2d", r(1, 2, 4, 5), [7, 3])
case("upsample_nearest2d.vec", r(1, 2, 4, 5), None, [2.0, 1.5])
case("_upsample_nearest_exact2d", r(1, 2, 4, 5), [7, 3])
case("upsample_nearest3d", r(1, 2, 2, 3, 2), [3, 5, 4])
case("upsample_linear1d", r(2, 3, 5), [8], False)
case("upsample_linear1d", r(2, 3, 5), [8], True)
case("upsample_bilinear2d", r(1, 2, 4, 5), [7, 3], False)
case("upsample_bilinear2d", r(1, 2, 4, 5), [7, 3], True)
case("upsample_bilinear2d.vec", r(1, 2, 4, 5), None, False, [2.0, 1.7])
case("upsample_trilinear3d", r(1, 2, 2, 3, 2), [3, 5, 4], False)
case("upsample_bicubic2d", r(1, 2, 4, 5), [7, 3], False)
case("upsample_bicubic2d", r(1, 2, 4, 5), [7, 3], True)
case("_upsample_bilinear2d_aa", r(1, 2, 8, 7), [3, 4], False)
case("_upsample_bicubic2d_aa", r(1, 2, 8, 7), [3, 9], False)

# Sorting
distinct = torch.randperm(24).reshape(2, 4, 3) / 4
case("sort", distinct)
case("sort", distinct, 1, True)
case("sort.stable", ints(3, 7), stable=True, dim=1)
case("sort.stable", r(3, 7), stable=True, dim=0, descending=True)
case("sort", torch.tensor([1.0, float("nan"), -2.0, float("inf")]))
case("argsort.stable", r(3, 7), stable=True)
case("sort", torch.tensor(3.0))
case("topk", distinct, 2, 1)
case("topk", distinct, 3, -1, False)
case("topk", r(2, 3), 5)
case("kthvalue", distinct, 2, 1)
case("kthvalue", distinct, 2, 1, True)

# Fourier transforms
def c(*sizes):
    return torch.complex(r(*sizes), r(*sizes))


for name in ["fft_fft", "fft_ifft", "fft_irfft", "fft_hfft"]:
    case(name, c(2, 6))
    case(name, c(7, 3), 8, 0, "ortho")
    case(name, c(9), None, -1, "forward")
for name in ["fft_rfft", "fft_ihfft"]:
    case(name, r(2, 7))
    case(name, r(5, 4), 6, 0, "ortho")
for name in ["fft_fft2", "fft_ifft2", "fft_irfft2", "fft_hfft2"]:
    case(name, c(2, 4, 5))
for name in ["fft_fftn", "fft_irfftn", "fft_hfftn"]:
    case(name, c(3, 4, 5), [2, 6], [0, 2])
case("fft_rfftn", r(3, 4, 5))
case("fft_ihfftn", r(3, 4))
case("fft_fft", r(3), 0)
case("stft", r(30), 8, None, None, None, False, None, True)
case("stft", r(2, 30), 8, 3, 6, r(6), True, None, False)
case("stft.center", r(2, 30), 8, 3, 6, r(6), True, "reflect", False, None, True)
spectrum = torch.stft(r(2, 30), 8, 2, return_complex=True, window=torch.hann_window(8))
case("istft", spectrum, 8, 2, None, torch.hann_window(8))
case("istft", spectrum, 8, 2, None, torch.hann_window(8), length=25)

# Sliding blocks and sampling
case("im2col", r(2, 3, 5, 6), [2, 3], [1, 2], [1, 0], [2, 1])
case("im2col", ints(3, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1])
case("col2im", r(2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
case("col2im", r(12, 12), [5, 7], [2, 3], [1, 1], [1, 0], [2, 2])
case("im2col", r(1, 2, 3, 3), [4, 4], [1, 1], [0, 0], [1, 1])
for mode in [0, 1, 2]:
    for padding in [0, 1, 2]:
        case("grid_sampler", r(1, 2, 4, 5), r(1, 3, 3, 2) / 2 + 0.01, mode, padding, padding == 1)
case("grid_sampler_3d", r(1, 1, 3, 4, 2), r(1, 2, 2, 2, 3) / 2 + 0.01, 0, 2, True)
case("grid_sampler_3d", r(1, 1, 3, 4, 2), r(1, 2, 2, 2, 3) / 2 + 0.01, 1, 0, False)

# Losses of classes, distances
labels = torch.tensor([0, 3, 1, -100])
for reduction in [0, 1, 2]:
    case("nll_loss", r(4, 5), labels, r(5).abs(), reduction)
    case("nll_loss2d", r(2, 3, 2, 2), ints(2, 2, 2, low=0, high=3), None, reduction, 1)
    case("multi_margin_loss", r(3, 4), torch.tensor([0, 3, 1]), 2, 0.5, r(4), reduction)
    case("multilabel_margin_loss", r(3, 4), torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 0, 0, 0]]), reduction)
case("nll_loss_forward", r(4, 5), labels, None, 1, -100)
case("nll_loss_nd", r(3), torch.tensor(1))
case("nll_loss_nd", r(3, 2), torch.tensor([0, 1, 5]))
for p in [0.0, 1.0, 2.0, 3.0, float("inf")]:
    case("cdist", r(2, 3, 4), r(5, 4), p)
case("pdist", r(4, 3), 2.0)

# Windows and unpooling
for name in ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]:
    case(name, 7)
    case(f"{name}.periodic", 8, False)
case("hamming_window.periodic_alpha_beta", 6, True, 0.6, 0.3)
case("kaiser_window.beta", 6, False, 5.0)
case("max_unpool2d", r(1, 2, 2, 2), torch.tensor([[[[0, 3], [9, 10]], [[5, 2], [8, 15]]]]), [4, 4])
case("max_unpool2d", r(1, 1, 2, 2), torch.tensor([[[[0, 1], [2, 30]]]]), [4, 4])
case("fractional_max_pool2d", r(2, 2, 7, 6), [2, 3], [3, 2], torch.rand(2, 2, 2))
case("fractional_max_pool3d", r(1, 2, 5, 6, 5), [2, 2, 2], [3, 3, 2], torch.rand(1, 2, 3))

# Connectionist temporal classification, frequencies
log_probabilities = torch.log_softmax(r(6, 2, 4), 2)
for reduction in [0, 1, 2]:
    case("ctc_loss.IntList", log_probabilities, torch.tensor([[1, 2, 2], [3, 0, 0]]), [6, 5], [3, 1], 0, reduction)
case("ctc_loss.Tensor", log_probabilities, torch.tensor([1, 2, 2, 3]), torch.tensor([6, 5]), torch.tensor([3, 1]))
case("ctc_loss.IntList", log_probabilities, torch.tensor([[1, 1, 1], [3, 0, 0]]), [4, 5], [3, 1], 0, 0, True)
case("fft_fftfreq", 5, 0.5)
case("fft_rfftfreq", 6)

# torchvision's operators
import torchvision  # It registers them.

V = "torchvision::"


def corners(count, integer=False):
    first = ints(count, 2, low=0, high=10).float() + (0 if integer else torch.rand(count, 2))
    return torch.cat([first, first + ints(count, 2, low=0, high=7)], 1)


def regions(count, images, dtype=torch.float32):
    return torch.cat([ints(count, 1, low=0, high=images), corners(count) * 2 - 3], 1).mul(8).round().div(8).to(dtype)


for threshold in [0.0, 1 / 3, 0.5, 0.7, -1.0]:
    case(V + "nms", corners(20, True), ints(20, low=0, high=9).float() / 8, threshold)
case(V + "nms", corners(9).double(), r(9, dtype=torch.float64), 0.3)
case(V + "nms", torch.tensor([[0.0, 0, 4, 4], [4, 4, 0, 0], [0, 0, 0, 0], [0, 0, 4, float("nan")]]), torch.tensor([1, 3, float("nan"), 2]), 0.5)
case(V + "nms", r(0, 4), r(0), 0.5)
for boxes, scores in [(r(3), r(3)), (r(3, 5), r(3)), (r(3, 4), r(3, 1)), (r(3, 4), r(2)), (r(3, 4), r(3).double()), (r(3, 4).half(), r(3).half())]:
    case(V + "nms", boxes, scores, 0.5)
for dtype in [torch.float32, torch.float64, torch.float16]:
    for ratio in [2, -1]:
        case(V + "roi_align", r(2, 2, 6, 7, dtype=dtype), regions(4, 2, dtype), 0.5, 3, 2, ratio, ratio == 2)
        case(V + "ps_roi_align", r(2, 6, 6, 7, dtype=dtype), regions(4, 2, dtype), 0.5, 3, 2, ratio)
    case(V + "roi_pool", r(2, 2, 6, 7, dtype=dtype), regions(4, 2, dtype), 0.5, 3, 2)
    case(V + "ps_roi_pool", r(2, 6, 6, 7, dtype=dtype), regions(4, 2, dtype), 1.0, 3, 2)
    case(V + "deform_conv2d", r(2, 4, 5, 6, dtype=dtype), r(4, 2, 3, 2, dtype=dtype), r(2, 24, 3, 3, dtype=dtype) / 4,
         r(2, 12, 3, 3, dtype=dtype), r(4, dtype=dtype), 2, 2, 1, 0, 1, 1, 2, 2, True)
case(V + "roi_align", r(1, 2, 5, 5), regions(3, 1), 1.0, 2, 2, 0, False)
case(V + "roi_align", r(1, 2, 5, 5), r(0, 5), 1.0, 2, 2, 2, False)
case(V + "roi_align", r(1, 2, 5, 5), r(3, 4), 1.0, 2, 2, 2, False)
case(V + "roi_align", r(1, 2, 5, 5), r(3, 5).double(), 1.0, 2, 2, 2, False)
case(V + "roi_align", r(1, 2, 5, 5).bfloat16(), r(3, 5).bfloat16(), 1.0, 2, 2, 2, False)
case(V + "ps_roi_align", r(1, 5, 5, 5), r(3, 5), 1.0, 2, 2, 2)
case(V + "roi_pool", torch.full((1, 1, 4, 4), float("-inf")), torch.tensor([[0.0, 0, 0, 2, 2]]), 1.0, 2, 2)
case(V + "deform_conv2d", r(2, 3, 5, 5), r(2, 3, 1, 1), r(2, 2, 5, 5), r(2, 1), r(2), 1, 1, 0, 0, 1, 1, 1, 1, False)
case(V + "deform_conv2d", r(2, 3, 5, 5), r(2, 3, 1, 1), r(2, 2, 5, 5), r(1, 1), r(2), 1, 1, 0, 0, 1, 1, 1, 1, False)
case(V + "deform_conv2d", r(2, 3, 5, 5), r(2, 3, 1, 1), r(2, 3, 5, 5), r(2, 1), r(2), 1, 1, 0, 0, 1, 1, 1, 1, False)
turned = torch.cat([r(5, 2), r(5, 2).abs() + 0.5, ints(5, 1, low=-8, high=9) * 22.5], 1)
case(V + "box_iou_rotated", turned, torch.cat([turned[:2], turned[:2] + r(2, 5) / 8]))
case(V + "box_iou_rotated", turned.double(), r(2, 5, dtype=torch.float64))
case(V + "box_iou_rotated", r(2, 4), r(2, 5))

# torchaudio's operators
import torchaudio  # It registers them.

A = "torchaudio::"

for dtype in [torch.float32, torch.float64]:
    padded = torch.cat([torch.zeros(2, 2, 2, dtype=dtype), r(2, 2, 9, dtype=dtype)], 2)
    case(A + "_lfilter_core_loop", r(2, 2, 9, dtype=dtype), r(2, 3, dtype=dtype) / 8, padded)
    case(A + "_overdrive_core_loop", r(2, 9, dtype=dtype), r(2, 9, dtype=dtype), r(2, dtype=dtype), r(2, dtype=dtype), r(2, 9, dtype=dtype))
case(A + "_lfilter_core_loop", r(1, 1, 6), torch.ones(1, 1), torch.zeros(1, 1, 6))
log_probabilities = r(1, 9, 5) * 2
for labels in [[1, 2, 3], [1, 1, 2, 4], [4], [1, 2, 3, 4, 1, 2, 3, 4, 1], [2, 2, 2, 2, 2], [1, 1, 1, 2, 2, 3]]:
    for dtype in [torch.int32, torch.int64]:
        target = torch.tensor([labels], dtype=dtype)
        case(A + "forced_align", log_probabilities, target, torch.tensor([9]), torch.tensor([len(labels)]), 0)

# Products of groups
ends = torch.tensor([2, 2, 8], dtype=torch.int32)
for dtype in [torch.float32, torch.bfloat16]:
    case("_grouped_mm", r(8, 16, dtype=dtype), r(3, 7, 16, dtype=dtype).transpose(1, 2), ends)
    case("_grouped_mm", r(4, 8, dtype=dtype), r(8, 16, dtype=dtype), ends)
    case("_grouped_mm", r(3, 4, 16, dtype=dtype), r(16, 8, dtype=dtype), ends)
    case("_grouped_mm", r(3, 4, 16, dtype=dtype), r(3, 16, 8, dtype=dtype))
case("_grouped_mm", r(8, 16).double(), r(3, 16, 8).double(), ends)
case("_grouped_mm", r(8, 16), r(2, 16, 8), ends)
case("_grouped_mm", r(8, 5), r(3, 5, 7), ends)
case("_grouped_mm", r(8, 16), r(3, 16, 8), ends.long())
case("_grouped_mm", r(8, 16), r(3, 16, 8), ends, r(8))
case("_grouped_mm", r(8, 16), r(3, 16, 8), ends, None, torch.bfloat16)
case("_grouped_mm", r(8, 16), r(3, 16, 8))

# Products with weights of four and of eight bits, as they lie on processors with AVX-512
torch.manual_seed(0)
W4 = "_weight_int4pack_mm_for_cpu"
W8 = "_weight_int8pack_mm"


def bits4(rows, columns):
    return ints(rows, columns, low=0, high=16, dtype=torch.int32)


def packed4(rows, columns):
    return torch.ops.aten._convert_weight_to_int4pack_for_cpu(bits4(rows, columns), 1)


def bytes8(rows, columns):
    return ints(rows, columns, low=-128, high=128, dtype=torch.int8)


for rows, columns in [(16, 2), (48, 6), (64, 4), (80, 2), (128, 2), (0, 4), (16, 0)]:
    case("_convert_weight_to_int4pack_for_cpu", bits4(rows, columns), 2)
case("_convert_weight_to_int4pack_for_cpu", bits4(2, 64).t(), 1)
case("_convert_weight_to_int4pack_for_cpu", ints(64, 2, low=-300, high=300, dtype=torch.int32), 1)
case("_convert_weight_to_int4pack_for_cpu", bits4(8, 4), 1)
case("_convert_weight_to_int4pack_for_cpu", bits4(16, 3), 1)
case("_convert_weight_to_int4pack_for_cpu", bits4(16, 4).long(), 1)
case("_convert_weight_to_int4pack_for_cpu", bits4(16, 4)[0], 1)
for dtype in [torch.float32, torch.bfloat16, torch.float16]:
    case(W4, r(3, 64, dtype=dtype), packed4(64, 64), 32, r(2, 64, 2, dtype=dtype))
    case(W4, r(1, 64, dtype=dtype), packed4(48, 64), 64, r(1, 48, 2, dtype=dtype))
    case(W8, r(5, 16, dtype=dtype), bytes8(12, 16), r(12, dtype=dtype))
case(W4, r(5, 32), packed4(144, 32), 32, r(1, 144, 2))
case(W4, r(1, 64), packed4(80, 64), 32, r(2, 80, 2))
case(W4, r(2, 256), packed4(16, 256), 128, r(2, 16, 2))
case(W4, r(4, 256), packed4(16, 256), 256, r(1, 16, 2))
case(W4, r(2, 64), packed4(16, 64).unsqueeze(2), 32, r(3, 16, 2))
case(W4, r(0, 32), packed4(16, 32), 32, r(1, 16, 2))
case(W4, r(2, 32), packed4(0, 32), 32, r(1, 0, 2))
case(W4, r(2, 0), packed4(16, 0), 32, r(0, 16, 2))
for activations, weights, group, scales in [
    (r(32), packed4(16, 32), 32, r(1, 16, 2)),
    (r(1, 2, 32), packed4(16, 32), 32, r(1, 16, 2)),
    (r(2, 32).double(), packed4(16, 32), 32, r(1, 16, 2)),
    (r(32, 2).t(), packed4(16, 32), 32, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32).char(), 32, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32).flatten(), 32, r(1, 16, 2)),
    (r(2, 32), packed4(32, 32).t(), 32, r(1, 16, 2)),
    (r(2, 32), packed4(16, 30), 32, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32), 16, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32), 64, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32), 32, r(1, 16)),
    (r(2, 32), packed4(16, 32), 32, r(1, 32, 2)),
    (r(2, 32), packed4(16, 32), 32, r(1, 16, 2).bfloat16()),
    (r(2, 32).half(), packed4(16, 32), 32, r(1, 16, 2)),
    (r(2, 32), packed4(16, 32)[:8], 32, r(1, 8, 2)),
    (r(2, 32), packed4(96, 32)[:72], 32, r(1, 72, 2)),
]:
    case(W4, activations, weights, group, scales)
case(W8, r(3, 7), bytes8(5, 7), r(5))
case(W8, r(1, 40), bytes8(9, 40), r(9))
case(W8, r(70, 3), bytes8(67, 3), r(67))
case(W8, r(2, 9)[:, :5], bytes8(3, 5), r(3))
case(W8, r(2, 5), bytes8(3, 5).unsqueeze(2), r(3))
case(W8, r(0, 5), bytes8(3, 5), r(3))
case(W8, r(2, 5), bytes8(0, 5), r(0))
case(W8, r(2, 0), bytes8(3, 0), r(3))
for activations, weights, scales in [
    (r(5), bytes8(3, 5), r(3)),
    (r(1, 2, 5), bytes8(3, 5), r(3)),
    (r(2, 5).double(), bytes8(3, 5), r(3)),
    (r(5, 2).t(), bytes8(3, 5), r(3)),
    (r(2, 5), bytes8(3, 5).byte(), r(3)),
    (r(2, 5), bytes8(3, 5)[0], r(3)),
    (r(2, 5), bytes8(5, 3).t(), r(3)),
    (r(2, 5), bytes8(3, 6), r(3)),
    (r(2, 5), bytes8(3, 5), r(3, 1)),
    (r(2, 5), bytes8(3, 5), r(4)),
    (r(2, 5), bytes8(3, 5), r(3).half()),
]:
    case(W8, activations, weights, scales)
