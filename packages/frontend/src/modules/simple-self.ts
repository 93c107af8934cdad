import type { ClassType, Value } from '@cresset/ir';
import type { Self } from '../resolver.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';

/** The self of a class whose members are all that there is to it (PyTorch: SimpleSelf). */
export class SimpleSelf implements Self {
  readonly classType: ClassType;

  constructor(classType: ClassType) {
    this.classType = classType;
  }

  makeSugared(value: Value): SugaredValue {
    return new SimpleValue(value.setType(this.classType));
  }
}
