import { ACTIVATION, DISTANCE, DROPOUT } from './activation.ts';
import { CONTAINER } from './containers.ts';
import { CHANNELSHUFFLE, CONV, FLATTEN, FOLD, PIXELSHUFFLE, UPSAMPLING } from './convolutions.ts';
import { INIT, LINEAR, NN_UTILS, SPARSE } from './layers.ts';
import { LOSS } from './losses.ts';
import { MODULE } from './module.ts';
import { BATCHNORM, INSTANCENORM, NORMALIZATION } from './normalization.ts';
import { PADDING, POOLING } from './pooling.ts';
import { RNN } from './recurrent.ts';
import { ATTENTION, STUBS, TRANSFORMER } from './transformer.ts';

interface PythonText {
  /** The module of Python that PyTorch has it in: part of the names of its classes. */
  readonly path: string;
  readonly text: string;
}

/** Names that the texts have from each other. */
const IMPORTS = `
from torch import nn
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter
from torch.nn import init
from torch.nn.modules.utils import _single, _pair, _triple, _quadruple, _ntuple
`;

const FILES: Readonly<Record<string, string>> = {
  activation: ACTIVATION + ATTENTION,
  batchnorm: BATCHNORM,
  channelshuffle: CHANNELSHUFFLE,
  container: CONTAINER,
  conv: CONV,
  distance: DISTANCE,
  dropout: DROPOUT,
  flatten: FLATTEN,
  fold: FOLD,
  instancenorm: INSTANCENORM,
  linear: LINEAR,
  loss: LOSS,
  normalization: NORMALIZATION,
  padding: PADDING,
  pixelshuffle: PIXELSHUFFLE,
  pooling: POOLING,
  rnn: RNN,
  sparse: SPARSE,
  transformer: TRANSFORMER,
  upsampling: UPSAMPLING,
};

/**
 * The classes of `torch.nn`, by the files that PyTorch has them in: what their `__init__` makes, with PyTorch's defaults and initialisation, and
 * their `forward`. They are run and compiled as what people write is.
 */
export const NN_TEXTS: Readonly<Record<string, PythonText>> = {
  module: {
    path: 'torch.nn.modules.module',
    text: `import functools\nfrom torch.nn.parameter import Parameter\n${MODULE}`,
  },
  init: { path: 'torch.nn.init', text: INIT },
  utils: { path: 'torch.nn.modules.utils', text: NN_UTILS },
  stubs: { path: 'torch.ao.quantization.stubs', text: IMPORTS + STUBS },
  ...Object.fromEntries(
    Object.entries(FILES).map(([file, text]) => [file, { path: `torch.nn.modules.${file}`, text: IMPORTS + text }]),
  ),
};

/** The file that defines a class or function; undefined where there is none of that name. */
export function nnClassFile(name: string): string | undefined {
  const definition = new RegExp(`^(class|def) ${name}\\b`, 'm');
  return Object.keys(NN_TEXTS).find((file) => definition.test(NN_TEXTS[file]!.text));
}
