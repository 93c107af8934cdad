import { hint, Tensor, type IValue, type Storage } from '@cresset/tensor';

/** How a tensor lay before an instruction ran. */
export interface GivenLayout {
  readonly tensor: Tensor;
  readonly storage: Storage;
  readonly layout: string;
}

/** Nothing of what is no tensor. */
export const givenLayout = (value: IValue): GivenLayout | [] =>
  value instanceof Tensor ? { tensor: value, storage: value.storage, layout: layoutOf(value) } : [];

/** Whether a tensor lies as it did. */
export const isUnmoved = ({ tensor, storage, layout }: GivenLayout): boolean =>
  tensor.storage === storage && layoutOf(tensor) === layout;

const layoutOf = ({ symSizes, symStrides }: Tensor): string => `${symSizes.map(hint)} ${symStrides.map(hint)}`;
