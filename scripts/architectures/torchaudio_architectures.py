"""Torchaudio's models at small sizes, and its transforms."""
import functools

import torch
import torchaudio
from torch import Tensor, nn
from torchaudio import models, transforms

from architecture import Architecture

rate = 8000


def wave(batch: int = 1, samples: int = 4000) -> Tensor:
    time = torch.arange(samples) / rate
    tones = torch.sin(2 * torch.pi * torch.tensor([[220.0], [440.0]])[: max(1, min(batch, 2))] * time)
    return 0.5 * tones.expand(batch, -1) + 0.1 * torch.randn(batch, samples)


def spectrum(frames: int = 40) -> Tensor:
    return torch.rand(1, 201, frames)


class Filter(nn.Module):
    """One function of torchaudio.functional as a module."""

    def __init__(self, name: str, *arguments: object):
        super().__init__()
        self.apply_filter = getattr(torchaudio.functional, name)
        self.arguments = arguments

    def forward(self, waveform: Tensor) -> Tensor:
        return self.apply_filter(waveform, *self.arguments)


def wav2vec2() -> nn.Module:
    return models.wav2vec2_model(
        extractor_mode="group_norm",
        extractor_conv_layer_config=[(32, 10, 5), (32, 3, 2), (32, 3, 2)],
        extractor_conv_bias=False,
        encoder_embed_dim=48,
        encoder_projection_dropout=0.1,
        encoder_pos_conv_kernel=16,
        encoder_pos_conv_groups=4,
        encoder_num_layers=2,
        encoder_num_heads=4,
        encoder_attention_dropout=0.1,
        encoder_ff_interm_features=64,
        encoder_ff_interm_dropout=0.1,
        encoder_dropout=0.1,
        encoder_layer_norm_first=False,
        encoder_layer_drop=0.1,
        aux_num_out=20,
    )


def networks():
    yield "wav2letter", lambda: models.Wav2Letter(num_classes=20, input_type="mfcc", num_features=40), lambda: (
        torch.randn(1, 40, 60),
    )
    yield "conformer", lambda: models.Conformer(40, 4, 64, 2, 15), lambda: (
        torch.randn(2, 30, 40),
        torch.tensor([30, 22]),
    )
    yield "conv_tasnet", lambda: models.ConvTasNet(2, 16, 64, 3, 32, 64, 3, 2), lambda: (wave()[:, None],)
    yield "deep_speech", lambda: models.DeepSpeech(40, 64, 20), lambda: (torch.randn(2, 1, 25, 40),)
    yield "emformer", lambda: models.Emformer(64, 4, 128, 2, segment_length=4, right_context_length=1), lambda: (
        torch.randn(2, 17, 64),
        torch.tensor([16, 12]),
    )
    yield "wav2vec2", wav2vec2, lambda: (wave(2),)
    yield "hdemucs", lambda: models.HDemucs(["voice", "rest"], channels=8), lambda: (
        wave(2, 16384)[None],
    )
    yield "wavernn", lambda: models.WaveRNN([2, 2], 16, 4, n_res_block=2, n_rnn=32, n_fc=32, n_freq=20, n_hidden=16, n_output=16, kernel_size=5), lambda: (
        torch.rand(1, 1, 20),
        torch.rand(1, 1, 20, 9),
    )
    yield "squim_objective", lambda: models.squim_objective_model(
        feat_dim=64, win_len=64, d_model=32, nhead=4, hidden_dim=32, num_blocks=2, rnn_type="LSTM", chunk_size=31
    ), lambda: (wave(),)


def transform_modules():
    bands = {"n_fft": 256, "n_mels": 32}
    yield "spectrogram", lambda: transforms.Spectrogram(256), wave
    yield "spectrogram_complex", lambda: transforms.Spectrogram(256, power=None, normalized=True), wave
    yield "inverse_spectrogram", lambda: transforms.InverseSpectrogram(256), lambda: torch.randn(1, 129, 30, dtype=torch.cfloat)
    yield "mel_spectrogram", lambda: transforms.MelSpectrogram(rate, **bands), wave
    yield "mfcc", lambda: transforms.MFCC(rate, 13, melkwargs=bands), wave
    yield "lfcc", lambda: transforms.LFCC(rate, 32, n_lfcc=13, speckwargs={"n_fft": 256}), wave
    yield "mel_scale", lambda: transforms.MelScale(32, rate, n_stft=201), spectrum
    yield "inverse_mel_scale", lambda: transforms.InverseMelScale(65, 20, rate), lambda: torch.rand(1, 20, 10)
    yield "griffin_lim", lambda: transforms.GriffinLim(256, n_iter=8, rand_init=False), lambda: torch.rand(1, 129, 20)
    yield "amplitude_to_db", lambda: transforms.AmplitudeToDB("power", 80.0), spectrum
    # With a long hop, phases add up to thousands of radians, which float32 holds to a thousandth only.
    yield "time_stretch", lambda: transforms.TimeStretch(4, 129, 1.3), lambda: torch.randn(1, 129, 30, dtype=torch.cfloat)
    yield "pitch_shift", lambda: transforms.PitchShift(rate, 3, n_fft=256), wave
    yield "resample", lambda: transforms.Resample(8000, 6000), wave
    yield "resample_kaiser", lambda: transforms.Resample(8000, 11025, "sinc_interp_kaiser"), wave
    yield "compute_deltas", lambda: transforms.ComputeDeltas(), spectrum
    yield "sliding_window_cmn", lambda: transforms.SlidingWindowCmn(20), lambda: torch.rand(1, 40, 13)
    yield "spectral_centroid", lambda: transforms.SpectralCentroid(rate, 256), wave
    yield "vad", lambda: transforms.Vad(rate), wave
    yield "loudness", lambda: transforms.Loudness(rate), lambda: wave(2, 8000)
    yield "fade", lambda: transforms.Fade(500, 700, "logarithmic"), wave
    yield "vol", lambda: transforms.Vol(3.0, "db"), wave
    yield "mu_law_encoding", lambda: transforms.MuLawEncoding(64), wave
    yield "mu_law_decoding", lambda: transforms.MuLawDecoding(64), lambda: torch.arange(64)
    yield "preemphasis", lambda: transforms.Preemphasis(), wave
    yield "deemphasis", lambda: transforms.Deemphasis(), wave
    yield "psd", lambda: transforms.PSD(), lambda: torch.randn(3, 65, 20, dtype=torch.cfloat)


filters = {
    "lowpass_biquad": (rate, 1000.0),
    "highpass_biquad": (rate, 1000.0),
    "bandpass_biquad": (rate, 1000.0),
    "allpass_biquad": (rate, 1000.0),
    "equalizer_biquad": (rate, 1000.0, 3.0),
    "treble_biquad": (rate, 3.0),
    "bass_biquad": (rate, 3.0),
    "phaser": (rate,),
    "flanger": (rate,),
    "overdrive": (),
    "contrast": (),
    "dcshift": (0.1,),
    "gain": (2.0,),
    "detect_pitch_frequency": (rate,),
}


def architectures():
    for name, build, inputs in networks():
        yield Architecture(name, build, inputs, settle=name not in ("hdemucs",))
    for name, build, inputs in transform_modules():
        yield Architecture(f"transforms.{name}", build, functools.partial(lambda make: (make(),), inputs), settle=False)
    # A flanger takes channels of several waves at once; a short wave keeps the sample-by-sample effects short.
    for name, arguments in filters.items():
        shape = (lambda: (wave(2, 400)[None],)) if name == "flanger" else (lambda: (wave(1, 400 if name in ("phaser", "overdrive") else 2000),))
        build = functools.partial(Filter, name, *arguments)
        yield Architecture(f"functional.{name}", build, shape, settle=False)
