import {
  AnyListType,
  DictType,
  ListType,
  OptionalType,
  UnionType,
  unifyTypes,
  type SourceRange,
  type Type,
} from '@cresset/ir';
import { compileError } from '../compilation-error.ts';

/** What an annotation leaves open for a list or dict written out in the source. */
export interface ContainerHint {
  /** The type asked for; undefined without annotation. Still a Union where several containers are in it. */
  readonly refined: Type | undefined;
  /** The containers of a Union with more than one of the kind. */
  readonly candidates: readonly Type[];
}

const IS_CONTAINER: Readonly<Record<'List' | 'Dict', (type: Type) => boolean>> = {
  List: (type) => type.isSubtypeOf(AnyListType.get()),
  Dict: (type) => type instanceof DictType,
};

/**
 * Finds the list or dict type in an annotation (PyTorch: refineAndSetUnionTypeHintOrPopulateCandidatesVector). Throws an ErrorReport where the
 * annotation takes no such container.
 *
 * @param isConstructor for `dict(…)`, where what cannot be told yet is told later
 */
export function refineContainerHint(
  typeHint: Type | undefined,
  what: 'List' | 'Dict',
  range: SourceRange,
  isConstructor = false,
): ContainerHint {
  let refined = typeHint;
  if (typeHint instanceof UnionType) {
    const candidates = typeHint.members.filter(IS_CONTAINER[what]);
    if (candidates.length === 0 && !isConstructor) {
      throw compileError(
        range,
        `Expected an Union type annotation with an inner ${what} type, but got ${typeHint.reprStr()}`,
      );
    }
    if (candidates.length > 1) {
      return { refined, candidates };
    }
    refined = candidates[0] ?? refined;
  } else if (typeHint instanceof OptionalType) {
    refined = typeHint.elementType;
  }
  if (refined !== undefined && !isConstructor && !IS_CONTAINER[what](refined) && refined.kind !== 'AnyType') {
    throw compileError(range, `Expected an annotation of type ${what} but got ${typeHint!.reprStr()}`);
  }
  return { refined: refined?.kind === 'AnyType' ? undefined : refined, candidates: [] };
}

/** The list type of a Union that can hold the elements; throws an ErrorReport where none can. */
export function chooseListCandidate(
  candidates: readonly Type[],
  typeHint: Type,
  elementType: Type,
  range: SourceRange,
): ListType {
  let greatest: Type | undefined;
  for (const candidate of candidates) {
    const candidateElement = (candidate as ListType).elementType;
    if (elementType.isSubtypeOf(candidateElement)) {
      greatest = greatest === undefined ? candidateElement : unifyTypes(greatest, candidateElement);
    }
  }
  if (greatest === undefined) {
    throw compileError(
      range,
      `Union type annotation \`${typeHint.reprStr()}\` can hold ${enumerateTypes(candidates)}, but none of those types ` +
        `match the types of the given list elements, which were unified to ${elementType.reprStr()}`,
    );
  }
  return new ListType(greatest);
}

/** The dict type of a Union that can hold the keys and values; throws an ErrorReport where none can. */
export function chooseDictCandidate(
  candidates: readonly Type[],
  typeHint: Type,
  keyType: Type,
  valueType: Type,
  range: SourceRange,
): DictType {
  let chosen: DictType | undefined;
  for (const candidate of candidates as readonly DictType[]) {
    const fits = keyType.isSubtypeOf(candidate.keyType) && valueType.isSubtypeOf(candidate.valueType);
    const isWider =
      chosen === undefined ||
      (chosen.keyType.isSubtypeOf(candidate.keyType) && chosen.valueType.isSubtypeOf(candidate.valueType));
    if (fits && isWider) {
      chosen = candidate;
    }
  }
  if (chosen === undefined) {
    throw compileError(
      range,
      `Union type annotation \`${typeHint.reprStr()}\` can hold ${enumerateTypes(candidates)}, but none of those dict ` +
        `types can hold the types of the given keys and values, which were unified to Dict[${keyType.reprStr()}, ${valueType.reprStr()}`,
    );
  }
  return chosen;
}

/** `A or B`, `A, B, or C` */
function enumerateTypes(types: readonly Type[]): string {
  let text = '';
  types.forEach((type, index) => {
    if (index > 0 && types.length > 2) {
      text += ', ';
    }
    if (index > 0 && index === types.length - 1) {
      text += ' or ';
    }
    text += type.reprStr();
  });
  return text;
}

export function isUnionLike(type: Type | undefined): type is UnionType | OptionalType {
  return type instanceof UnionType || type instanceof OptionalType;
}
