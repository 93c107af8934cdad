"""
Models of transformers at toy sizes. Their code takes keyword arguments and answers with classes, which TorchScript does not know: each is
traced behind a module that takes tensors and answers with a tuple of them, as the library's documentation does for export.
"""
import functools

import torch
import transformers
from torch import Tensor, nn

from architecture import Architecture, image

traced_forms = ("traced", "frozen_trace")

# What makes a configuration small, by the names that configurations have for it; those that a configuration lacks are left out.
small = {
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "embedding_size": 32,
    "emb_dim": 32,
    "num_hidden_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_attention_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "ffn_dim": 48,
    "d_ff": 48,
    "d_kv": 8,
    "hidden_dim": 48,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "max_target_positions": 64,
    "n_positions": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "use_cache": False,
}
texts = """Bert DistilBert Roberta Electra Albert XLMRoberta Camembert Ernie MPNet SqueezeBert MegatronBert RoFormer
ConvBert FNet Nystromformer ModernBert DebertaV2 Flaubert XLM Esm BioGpt GPT2 GPTNeo GPTNeoX GPTJ CodeGen OPT Bloom Falcon Mpt Llama
Mistral Mixtral Qwen2 Qwen2Moe Qwen3 Qwen3Moe Phi Phi3 Gemma Gemma2 Cohere StableLm Starcoder2 Olmo Olmo2 OlmoE Granite GraniteMoe Helium Mamba
Mamba2 Rwkv XGLM Persimmon Nemotron JetMoe""".split()
sequences = "T5 MT5 Bart MBart Marian Pegasus Blenderbot M2M100 LED".split()
vision_options = {
    "ViT": {"image_size": 32, "patch_size": 8},
    "DeiT": {"image_size": 32, "patch_size": 8},
    "Beit": {"image_size": 32, "patch_size": 8},
    "Dinov2": {"image_size": 32, "patch_size": 8},
    "ViTMSN": {"image_size": 32, "patch_size": 8},
    "Swin": {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    "Swinv2": {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    "ConvNext": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "ResNet": {"embedding_size": 8, "hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1], "layer_type": "basic"},
    "RegNet": {"embedding_size": 8, "hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1], "groups_width": 8},
    "PoolFormer": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "Segformer": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2]},
    "Pvt": {"image_size": 64, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2]},
    "VAN": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "MobileViT": {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 32]},
    "MobileNetV2": {"depth_multiplier": 0.35},
    "Yolos": {"image_size": [32, 32], "patch_size": 8, "num_detection_tokens": 4},
    "CLIPVision": {"image_size": 32, "patch_size": 8},
    "SiglipVision": {"image_size": 32, "patch_size": 8},
}


class Positional(nn.Module):
    """Takes the tensors named by `names` in order; answers with the tensors of the first level of the model's answer."""

    def __init__(self, model: nn.Module, names: "tuple[str, ...]", options: "dict[str, object]"):
        super().__init__()
        self.model = model
        self.names = names
        self.options = options

    def forward(self, *tensors: Tensor):
        answer = self.model(**dict(zip(self.names, tensors)), return_dict=False, **self.options)
        return tuple(value for value in answer if isinstance(value, Tensor))


def small_configuration(name: str, options: "dict[str, object]"):
    make = getattr(transformers, f"{name}Config")
    known = make().to_dict()
    return make(**{key: value for key, value in small.items() if key in known} | options)


def model(name: str, names: "tuple[str, ...]", options: "dict[str, object]", call: "dict[str, object]") -> nn.Module:
    configuration = small_configuration(name, options)
    # Weights of a standard deviation of 0.02, the common start, leave nothing but the residual to compare.
    if hasattr(configuration, "initializer_range"):
        configuration.initializer_range = 0.2
    return Positional(getattr(transformers, f"{name}Model")(configuration), names, call)


def tokens(batch: int = 2, length: int = 12) -> Tensor:
    return torch.randint(3, 99, (batch, length))


def padded() -> Tensor:
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 9:] = 0
    return mask


def text_call(name: str) -> "dict[str, object]":
    known = small_configuration(name, {}).to_dict()
    return {"use_cache": False} if "use_cache" in known else {}


def text_model(name: str, names: "tuple[str, ...]") -> nn.Module:
    # `eager` and `sdpa` attention are different programs; the library's default is the latter where a model has it.
    return model(name, names, {}, text_call(name))


def architectures():
    for name in texts:
        names = ("input_ids",) if name in ("Rwkv", "FNet", "Mamba", "Mamba2") else ("input_ids", "attention_mask")
        inputs = (lambda: (tokens(),)) if len(names) == 1 else (lambda: (tokens(), padded()))
        yield Architecture(name, functools.partial(text_model, name, names), inputs, traced_forms, settle=False)
    for name in sequences:
        names = ("input_ids", "attention_mask", "decoder_input_ids")
        build = functools.partial(model, name, names, {}, {"use_cache": False})
        yield Architecture(name, build, lambda: (tokens(), padded(), tokens(2, 7)), traced_forms, settle=False)
    for name, options in vision_options.items():
        size = options.get("image_size", 64)
        size = size[0] if isinstance(size, list) else size
        build = functools.partial(model, name, ("pixel_values",), options, {})
        yield Architecture(name, build, functools.partial(lambda size: (image(size),), size), traced_forms)
    yield Architecture(
        "Wav2Vec2",
        lambda: model(
            "Wav2Vec2",
            ("input_values",),
            {"conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2], "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2},
            {},
        ),
        lambda: (torch.randn(1, 800),),
        traced_forms,
        settle=False,
    )
    yield Architecture(
        "Whisper",
        lambda: model("Whisper", ("input_features", "decoder_input_ids"), {"num_mel_bins": 16, "max_source_positions": 30}, {"use_cache": False}),
        lambda: (torch.randn(1, 16, 60), tokens(1, 5)),
        traced_forms,
        settle=False,
    )
    yield Architecture(
        "AST",
        lambda: model("AST", ("input_values",), {"max_length": 64, "num_mel_bins": 32}, {}),
        lambda: (torch.randn(1, 64, 32),),
        traced_forms,
        settle=False,
    )
    yield Architecture(
        "TimeSeriesTransformer",
        time_series,
        lambda: (torch.rand(2, 20), torch.rand(2, 20, 1), torch.ones(2, 20), torch.rand(2, 4), torch.rand(2, 4, 1)),
        traced_forms,
        settle=False,
    )


def time_series() -> nn.Module:
    options = {"prediction_length": 4, "context_length": 13, "num_time_features": 1}
    names = ("past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features")
    return model("TimeSeriesTransformer", names, options, {"use_cache": False})
