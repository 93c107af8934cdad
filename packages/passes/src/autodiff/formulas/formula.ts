/**
 * The derivative of an operator. Most are gradients of its arguments, computed from `grad`, which is that of its result, `result` itself and
 * the arguments. What has to be said in another way is a whole function in TorchScript.
 */
export type Formula = string | Gradients;

export interface Gradients {
  /**
   * An expression for each argument that has a gradient, in the order in which they are computed. Names of no argument stand for what those
   * after them use.
   */
  readonly gradients: Readonly<Record<string, string>>;
  /** Arguments may have been broadcast: gradients are summed to their sizes, which the forward graph compares with the result's. */
  readonly sizes?: 'one by one' | 'in pairs';
}

export type FormulaTable = Readonly<Record<string, Formula>>;

/** The gradient of an operator's first argument, called `self`, and of none else. */
export const ofSelf = (gradient: string): Gradients => ({ gradients: { self: gradient } });

/** Two tensors that broadcast against each other. */
export const broadcasting = (gradients: Readonly<Record<string, string>>): Gradients => ({
  gradients,
  sizes: 'in pairs',
});

/** No argument has a gradient, though the result may be thought to need one. */
export const nowhere: Gradients = { gradients: {} };
