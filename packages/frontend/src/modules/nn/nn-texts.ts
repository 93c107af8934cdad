import { ACTIVATION, DISTANCE, DROPOUT } from './activation.ts';
import { ADAPTIVE } from './adaptive.ts';
import { CONTAINER, DATA_PARALLEL } from './containers.ts';
import { CHANNELSHUFFLE, CONV, FLATTEN, FOLD, PIXELSHUFFLE, UPSAMPLING } from './convolutions.ts';
import { INIT, LINEAR, NN_UTILS, SPARSE } from './layers.ts';
import { LAZY, LAZY_BATCHNORM, LAZY_CONV, LAZY_INSTANCENORM, LAZY_LINEAR } from './lazy.ts';
import { LOSS } from './losses.ts';
import { MODULE } from './module.ts';
import { BATCHNORM, INSTANCENORM, NORMALIZATION } from './normalization.ts';
import { PACKED_SEQUENCES } from './packed-sequences.ts';
import { PARAMETRIZATIONS, PARAMETRIZE } from './parametrizations.ts';
import { PADDING, POOLING } from './pooling.ts';
import { RNN } from './recurrent.ts';
import { ATTENTION, STUBS, TRANSFORMER } from './transformer.ts';
import { WEIGHT_HOOKS } from './weight-hooks.ts';

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
  adaptive: ADAPTIVE,
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
  lazy: LAZY,
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
  packed: { path: 'torch.nn.utils.rnn', text: `from typing import NamedTuple\n${PACKED_SEQUENCES}` },
  parametrize: { path: 'torch.nn.utils.parametrize', text: IMPORTS + PARAMETRIZE },
  parametrizations: { path: 'torch.nn.utils.parametrizations', text: IMPORTS + PARAMETRIZATIONS },
  hooks: { path: 'torch.nn.utils', text: IMPORTS + WEIGHT_HOOKS },
  // Most programs have none of these, so that they stand apart from the layers that they become.
  lazyLinear: { path: 'torch.nn.modules.linear', text: IMPORTS + LAZY_LINEAR },
  lazyConv: { path: 'torch.nn.modules.conv', text: IMPORTS + LAZY_CONV },
  lazyBatchNorm: { path: 'torch.nn.modules.batchnorm', text: IMPORTS + LAZY_BATCHNORM },
  lazyInstanceNorm: { path: 'torch.nn.modules.instancenorm', text: IMPORTS + LAZY_INSTANCENORM },
  parallel: { path: 'torch.nn.parallel.data_parallel', text: IMPORTS + DATA_PARALLEL },
  stubs: { path: 'torch.ao.quantization.stubs', text: IMPORTS + STUBS },
  ...Object.fromEntries(
    Object.entries(FILES).map(([file, text]) => [file, { path: `torch.nn.modules.${file}`, text: IMPORTS + text }]),
  ),
};

/** Modules of PyTorch's whose names are not those of `torch.nn` too. */
const APART = /^torch\.nn\.(init|utils)\b/;

/** The file that defines a class or function of a module of PyTorch's; undefined where there is none of that name. */
export function nnFile(module: string, name: string): string | undefined {
  const definition = new RegExp(`^(class|def) ${name}\\b`, 'm');
  return Object.keys(NN_TEXTS).find((file) => {
    const { path, text } = NN_TEXTS[file]!;
    return (APART.test(module) || APART.test(path) ? path === module : true) && definition.test(text);
  });
}
