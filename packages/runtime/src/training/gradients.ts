import { isFloatingPoint, Tensor, type IValue } from '@cresset/tensor';
import type { CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import { reachableTensors, tensorFromWire, tensorToWire, toWire } from '../worker/wire/wire-value.ts';
import { DifferentiableCall, lossOf } from './differentiable-call.ts';
import { RecordedRun } from './recorded-run.ts';
import { parametersOf } from './trainable-parameters.ts';
import { repeatedCallsOf } from './repeated-calls.ts';
import type { DifferentiatedResults } from './traced-call.ts';
import type { TrainRequest, WireGradients } from './training-requests.ts';
import { valuesIn } from './value-layouts.ts';

/**
 * Calls a method and takes the gradients of its loss, or of what it gives, by the parameters that require one and by its arguments of floating point
 * (torch.autograd.grad).
 */
export async function takeGradients(
  model: HostedModel,
  request: Extract<TrainRequest, { readonly what: 'gradients' }>,
  signal: AbortSignal,
): Promise<WireGradients> {
  const given = request.gradient && tensorFromWire(request.gradient);
  const call = await DifferentiableCall.of(model, request);
  const args = await call.argumentsOf(request);
  const parameters = parametersOf(model, request.module).filter(({ tensor }) => tensor.requiresGrad);
  const inputs = args.inputs.filter(
    (value): value is Tensor => value instanceof Tensor && isFloatingPoint(value.dtype),
  );
  for (const input of inputs) input.requiresGrad = true;
  const roots = [...args.inputs, ...args.targets, given, ...model.modules.values()];
  const values = valuesIn(roots);
  const known = repeatedCallsOf(model, request);
  const left: IValue[] = [...args.inputs, ...args.targets];
  const tensors = [...parameters.map(({ tensor }) => tensor), ...inputs];
  const bounds = { signal, given: () => left, kept: () => [], changed: null };
  const {
    output,
    loss,
    gradients: found,
  } = await RecordedRun.of(model, bounds, async (run) => {
    const differentiated = async (codes: CodeProvider): Promise<DifferentiatedResults<Tensor>> => {
      const results = await call.run(run, args, codes);
      const root = lossOf(results);
      return { output: results.output, loss: root, gradients: await run.gradients([root], [given], tensors) };
    };
    const result = await known.call({ call, run, roots, values }, differentiated);
    left.push(result.output, result.loss, ...result.gradients);
    const toHost = [result.output, result.loss, ...result.gradients].flatMap((value) => reachableTensors(value));
    return { result, toHost };
  });
  const ofInputs = new Map(inputs.map((input, at) => [input as IValue, found[parameters.length + at]]));
  const answer = {
    output: toWire(output, null),
    loss: request.loss === null ? null : tensorToWire(loss),
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
