import { isFloatingPoint, Tensor, type IValue } from '@cresset/tensor';
import type { HostedModel } from '../worker/hosted-model.ts';
import { reachableTensors, tensorFromWire, tensorToWire, toWire } from '../worker/wire/wire-value.ts';
import { DifferentiableCall, lossOf } from './differentiable-call.ts';
import { RecordedRun } from './recorded-run.ts';
import { parametersOf } from './trainable-parameters.ts';
import type { TrainRequest, WireGradients } from './training-requests.ts';

/**
 * Calls a method and takes the gradients of its loss, or of what it gives, by the parameters that require one and by its arguments of floating point
 * (torch.autograd.grad).
 */
export async function takeGradients(
  model: HostedModel,
  request: Extract<TrainRequest, { readonly what: 'gradients' }>,
  signal: AbortSignal,
): Promise<WireGradients> {
  const { gradient, loss: hasLoss } = request;
  const call = await DifferentiableCall.of(model, request);
  const args = await call.argumentsOf(request);
  const parameters = parametersOf(model, request.module).filter(({ tensor }) => tensor.requiresGrad);
  const inputs = args.inputs.filter(
    (value): value is Tensor => value instanceof Tensor && isFloatingPoint(value.dtype),
  );
  for (const input of inputs) input.requiresGrad = true;
  const codes = await call.codesOfCall();
  const left: IValue[] = [...args.inputs, ...args.targets];
  const bounds = { signal, given: () => left, kept: () => [], changed: null };
  const { output, loss, found } = await RecordedRun.of(model, bounds, async (run) => {
    const results = await call.run(run, args, codes);
    const root = lossOf(results);
    const given = gradient && tensorFromWire(gradient);
    const tensors = [...parameters.map(({ tensor }) => tensor), ...inputs];
    const gradients = await run.gradients([root], [given], tensors);
    left.push(results.output, root, ...gradients);
    const toHost = [...reachableTensors(results.output), root, ...gradients.filter((each) => each !== null)];
    return { result: { output: results.output, loss: root, found: gradients }, toHost };
  });
  const ofInputs = new Map(inputs.map((input, at) => [input as IValue, found[parameters.length + at]]));
  const answer = {
    output: toWire(output, null),
    loss: hasLoss === null ? null : tensorToWire(loss),
    parameters: parameters.flatMap(({ name }, at) => (found[at] ? [[name, tensorToWire(found[at])] as const] : [])),
    inputs: args.inputs.map((value) => {
      const of = ofInputs.get(value);
      return of ? tensorToWire(of) : null;
    }),
    profile: model.runner.lastRun!,
  };
  model.freeTemporaries(left);
  return answer;
}
