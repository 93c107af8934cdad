import { abortable } from '@cresset/archive';
import { CressetError } from '@cresset/ir';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import type { AnswerBody } from '../worker/worker-host.ts';
import { DifferentiableCall } from './differentiable-call.ts';
import { takeGradients } from './gradients.ts';
import { compileSource } from './loss.ts';
import { loadState, optimizerState, restoreState, saveOptimizer } from './optimizer-state.ts';
import { groupedParameters, parametersOf } from './trainable-parameters.ts';
import { Trainer } from './trainer.ts';
import type { TrainRequest } from './training-requests.ts';

/** The trainers of each model, by their numbers. */
const trainers = new WeakMap<HostedModel, Map<number, Trainer>>();
let lastTrainer = 0;

/** How requests about training are answered. */
export const trainingHandlers: RequestHandlers = {
  async train(request, host, signal) {
    const model = host.model(request.model);
    const work = model.enqueue(() => answer(request, model, signal), signal);
    // A step that has begun to change something is made to its end, and what comes after it waits for that; whoever has ended it need not.
    return request.what === 'step' ? abortable(work, signal) : work;
  },
};

async function answer(request: TrainRequest, model: HostedModel, signal: AbortSignal): Promise<AnswerBody> {
  switch (request.what) {
    case 'open':
      return openTrainer(request, model);
    case 'step':
      return { type: 'trained', ...(await trainerOf(model, request.trainer).step(request, request, signal)) };
    case 'gradients':
      return { type: 'gradients', gradients: await takeGradients(model, request, signal) };
    case 'state':
      return { type: 'optimizer-state', state: await optimizerState(trainerOf(model, request.trainer)) };
    case 'load-state':
      restoreState(trainerOf(model, request.trainer), request.state);
      return { type: 'done' };
    case 'load': {
      const groups = await loadState(trainerOf(model, request.trainer), request.input, signal);
      return { type: 'optimizer-groups', groups };
    }
    case 'save': {
      const bytes = await saveOptimizer(trainerOf(model, request.trainer), request.hyperparameters);
      return { type: 'saved', bytes: bytes.buffer };
    }
    case 'hook': {
      const trainer = trainerOf(model, request.trainer);
      trainer.addHook(request.hook, request.parameter, await compileSource(request.source, 'hook', model.parts));
      return { type: 'done' };
    }
    case 'remove-hook':
      trainerOf(model, request.trainer).removeHook(request.hook);
      return { type: 'done' };
    case 'close':
      trainers.get(model)?.get(request.trainer)?.dispose();
      trainers.get(model)?.delete(request.trainer);
      return { type: 'done' };
    case 'require-grad':
      for (const { tensor } of parametersOf(model, request.module)) tensor.requiresGrad = request.requiresGrad;
      return { type: 'done' };
  }
}

async function openTrainer(
  request: Extract<TrainRequest, { readonly what: 'open' }>,
  model: HostedModel,
): Promise<AnswerBody> {
  const { module, optimizer } = request;
  const grouped = groupedParameters(parametersOf(model, module), request.groups);
  const call = await DifferentiableCall.of(model, request);
  const trainer = new Trainer(model, call, optimizer, grouped);
  let known = trainers.get(model);
  if (!known) {
    const opened = new Map<number, Trainer>();
    trainers.set(model, (known = opened));
    model.ends.push(() => opened.forEach((each) => each.dispose()));
    model.keeps.push(function* () {
      for (const each of opened.values()) yield* each.kept();
    });
  }
  known.set(++lastTrainer, trainer);
  return { type: 'trainer', trainer: lastTrainer, groups: grouped.map((group) => group.map(({ name }) => name)) };
}

function trainerOf(model: HostedModel, number: number): Trainer {
  const trainer = trainers.get(model)?.get(number);
  if (!trainer) throw new CressetError('TRAINER_DISPOSED', 'this trainer was disposed of');
  return trainer;
}
