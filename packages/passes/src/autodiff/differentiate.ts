import { Graph, logGraph, type Value } from '@cresset/ir';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { type Gradient } from './gradient.ts';
import { buildReverse, type Reverse } from './reverse-block.ts';
import { reduceCaptures, reverseCaptures } from './reverse-captures.ts';
import { setRequiresGrad } from './update-requires-grad.ts';

/**
 * Makes the derivative of a graph of differentiable nodes (`isDifferentiable`); takes the graph over, it becomes `f` (PyTorch:
 * differentiate). Throws `IR_OPERATOR` for a node that has none.
 */
export function differentiate(graph: Graph): Gradient {
  const reverse = buildReverse(graph);
  reduceCaptures(graph, reverse);
  // Nodes that forward graphs stand for.
  eliminateDeadCode(graph);
  const gradient = liftReverse(graph, reverse);
  packOutputs(gradient.df);
  // Whoever runs f has detached its inputs.
  setRequiresGrad(gradient.f.block, false);
  logGraph('autodiff', gradient.f);
  logGraph('autodiff', gradient.df);
  return gradient;
}

/** Takes the reverse out into a graph of its own, whose inputs are what it used of the graph (PyTorch: lambdaLiftReverse). */
function liftReverse(f: Graph, reverse: Reverse): Gradient {
  const { block, gradients } = reverse;
  const fRealOutputs = f.outputs.length;
  const dfInputCapturedInputs: number[] = [];
  const dfInputCapturedOutputs: number[] = [];
  for (const capture of reverseCaptures(f)) {
    const output = f.outputs.slice(0, fRealOutputs).indexOf(capture);
    const input = f.inputs.indexOf(capture);
    if (output !== -1) dfInputCapturedOutputs.push(output);
    else if (input !== -1) dfInputCapturedInputs.push(input);
    else dfInputCapturedOutputs.push(f.registerOutput(capture));
  }

  const dfInputVjps = [...reverse.inputVjps];
  for (let index = fRealOutputs; index < f.outputs.length; index++) {
    const temporary = f.outputs[index];
    const gradient = gradients.get(temporary);
    if (!gradient) continue;
    addTo(gradient, block.addInput().setType(temporary.type));
    dfInputVjps.push(index);
  }

  const df = new Graph();
  const captured = [
    ...dfInputCapturedInputs.map((index) => f.inputs[index]),
    ...dfInputCapturedOutputs.map((index) => f.outputs[index]),
  ];
  const first = block.inputs.length;
  for (const value of captured) block.addInput().copyMetadata(value);
  df.block.cloneFrom(block, (value) => df.inputs[first + captured.indexOf(value)]);
  block.owningNode!.destroy();
  return {
    f,
    df,
    fRealOutputs,
    dfInputVjps,
    dfInputCapturedInputs,
    dfInputCapturedOutputs,
    dfOutputVjps: reverse.outputVjps,
  };
}

/** A temporary has the gradient that the reverse computes, and the one that came from outside. */
function addTo(gradient: Value, fromOutside: Value): void {
  const graph = gradient.owningGraph;
  const sum = graph.create('prim::AutogradAdd', [fromOutside, fromOutside]);
  const { node } = gradient;
  sum.insertAfter(node);
  gradient.replaceAllUsesWith(sum.output());
  sum.replaceInput(1, gradient);
}

function packOutputs(graph: Graph): void {
  const { returnNode } = graph;
  const tuple = graph.appendNode(graph.createTuple(returnNode.inputs));
  returnNode.removeAllInputs();
  returnNode.addInput(tuple.output());
}
