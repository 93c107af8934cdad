// The programs whose transfers are counted. Functions here run in a page, where the library is `cresset`; they see nothing else of this file.

/** Hears whether a stretch of sound is speech, as such models are built: a spectrum by convolution, an encoder, a recurrent cell. */
async function authorVoiceDetector() {
  const { script, tensor } = globalThis.cresset;
  const unit = await script(`
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.basis = nn.Parameter(torch.randn(34, 1, 32) * 0.2)
        self.encoder = nn.Sequential(
            nn.Conv1d(17, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 16, 3, stride=2, padding=1), nn.ReLU())
        self.weight_ih = nn.Parameter(torch.randn(64, 16) * 0.2)
        self.weight_hh = nn.Parameter(torch.randn(64, 16) * 0.2)
        self.bias = nn.Parameter(torch.zeros(64))
        self.decoder = nn.Conv1d(16, 1, 1)

    def forward(self, x: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        x = F.pad(x, [0, 16], "reflect").unsqueeze(1)
        parts = F.conv1d(x, self.basis, None, 16)
        spectrum = torch.sqrt(parts[:, :17] ** 2 + parts[:, 17:] ** 2)
        x = self.encoder(spectrum).mean(-1)
        h, c = torch.lstm_cell(x, [state[0], state[1]], self.weight_ih, self.weight_hh, self.bias, self.bias)
        chance = torch.sigmoid(self.decoder(torch.relu(h).unsqueeze(-1)))
        return chance.mean([1, 2]), torch.stack([h, c])
`);
  const model = await unit.construct('Detector');
  const sound = Float32Array.from({ length: 256 }, (_, at) => Math.sin(at / 3));
  const [chance] = await model.forward(tensor(sound, [1, 256]), tensor(new Float32Array(32), [2, 1, 16]));
  return { bytes: [...(await model.save())], answer: [...chance.data] };
}

async function runVoiceDetector({ given, device }) {
  const { load, tensor } = globalThis.cresset;
  const model = await load(Uint8Array.from(given), { device });
  const sound = Float32Array.from({ length: 256 }, (_, at) => Math.sin(at / 3));
  const [chance] = await model.forward(tensor(sound, [1, 256]), tensor(new Float32Array(32), [2, 1, 16]));
  return [...chance.data];
}

/** Tells words of sound by their spectrogram: `stft`, a bank of filters, convolutions. */
async function authorSpeechModel() {
  const { script, tensor } = globalThis.cresset;
  const unit = await script(`
class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("filters", torch.rand(16, 33))
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(x, 64, 32, 64, self.window, return_complex=True)
        mel = torch.matmul(self.filters, spectrum.abs() ** 2)
        features = torch.log(mel + 1e-3).unsqueeze(1)
        return torch.softmax(self.head(self.layers(features)), -1)
`);
  const model = await unit.construct('Speech');
  await model.eval();
  const sound = Float32Array.from({ length: 1024 }, (_, at) => Math.sin(at / 3));
  const words = await model.forward(tensor(sound, [1, 1024]));
  return { bytes: [...(await model.save())], answer: [...words.data] };
}

async function runSpeechModel({ given, device }) {
  const { load, tensor } = globalThis.cresset;
  const model = await load(Uint8Array.from(given), { device });
  const sound = Float32Array.from({ length: 1024 }, (_, at) => Math.sin(at / 3));
  const words = await model.forward(tensor(sound, [1, 1024]));
  return [...words.data];
}

async function runDigits({ given: { shape, picture, pictureScale }, device }) {
  const { load, tensor } = globalThis.cresset;
  const model = await load('/models/digits.pt', { device });
  const pixels = Float32Array.from(picture, (value) => value / pictureScale);
  const probabilities = await model.forward(tensor(pixels, shape));
  return [...probabilities.data];
}

async function authorAndSave({ device }) {
  const { createModule, tensor } = globalThis.cresset;
  const net = await createModule('Net', { device });
  await net.registerParameter('weight', tensor(new Float32Array(16).fill(0.5), [4, 4]));
  await net.define('def forward(self, x):\n    return torch.relu(x @ self.weight)\n');
  const y = await net.forward(tensor([[1, 2, 3, 4]]));
  const bytes = await net.save();
  // A zip begins with these letters.
  return [...y.data, ...bytes.slice(0, 2)];
}

/** A published voice activity detector, of which it is only asked that it answers. */
async function runPublishedDetector({ device }) {
  const { load, tensor } = globalThis.cresset;
  const model = await load('/models/shared/silero-vad/silero_vad.pt', { device });
  const chance = await model.forward(tensor(new Float32Array(512), [1, 512]), 16000);
  return [chance.data.length];
}

/**
 * @param digits what the bundled model is asked, and what PyTorch answers
 * @returns each with its budgets in bytes: on a GPU, and on the host, which compiles WebAssembly; `file` names one that lies beside the
 *   project where it lies at all
 */
export const programs = (digits) => [
  {
    name: 'digits',
    budgets: { webgpu: 292_300, cpu: 311_900 },
    given: digits,
    wanted: digits.probabilities,
    run: runDigits,
  },
  {
    name: 'voice activity detector',
    budgets: { webgpu: 292_300, cpu: 311_900 },
    author: authorVoiceDetector,
    run: runVoiceDetector,
  },
  {
    name: 'silero-vad',
    budgets: { webgpu: 292_300, cpu: 311_900 },
    file: 'silero-vad/silero_vad.pt',
    wanted: [1],
    run: runPublishedDetector,
  },
  {
    name: 'speech model with stft',
    budgets: { webgpu: 305_100, cpu: 326_600 },
    author: authorSpeechModel,
    run: runSpeechModel,
  },
  {
    name: 'authored and saved module',
    budgets: { webgpu: 412_000, cpu: 431_500 },
    wanted: [5, 5, 5, 5, 0x50, 0x4b],
    run: authorAndSave,
  },
];
