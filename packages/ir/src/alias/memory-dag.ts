import { invariant } from '../error.ts';
import type { Value } from '../graph/value.ts';

/** A set of memory locations, by the indices of their elements (PyTorch: MemoryLocations). Most are of one, which takes no set. */
export class MemoryLocations implements Iterable<number> {
  #first: number | undefined;
  #others: Set<number> | undefined;

  constructor(first?: number) {
    this.#first = first;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  get #size(): number {
    return this.#first === undefined ? 0 : 1 + (this.#others?.size ?? 0);
  }

  add(index: number): void {
    if (this.#first === undefined) this.#first = index;
    else if (this.#first !== index) (this.#others ??= new Set()).add(index);
  }

  addAll(other: MemoryLocations): void {
    if (other.#first !== undefined) this.add(other.#first);
    other.#others?.forEach((index) => this.add(index));
  }

  has(index: number): boolean {
    return this.#first === index || this.#others?.has(index) === true;
  }

  intersects(other: MemoryLocations): boolean {
    const [few, many] = this.#size <= other.#size ? [this, other] : [other, this];
    if (few.#first === undefined) return false;
    if (many.has(few.#first)) return true;
    for (const index of few.#others ?? []) if (many.has(index)) return true;
    return false;
  }

  [Symbol.iterator](): Iterator<number> {
    return [...(this.#first === undefined ? [] : [this.#first]), ...(this.#others ?? [])].values();
  }
}

/** Nearly all elements point to nothing and hold nothing, and a graph has many. */
const NONE: ReadonlySet<MemoryElement> = new Set();

/** Something that can alias: a value, or what all wildcards of a type stand for (PyTorch: Element). */
export class MemoryElement {
  readonly index: number;
  #pointsTo: Set<MemoryElement> | undefined;
  #containedElements: Set<MemoryElement> | undefined;
  #values: readonly Value[];

  constructor(index: number, value: Value | undefined) {
    this.index = index;
    this.#values = value === undefined ? [] : [value];
  }

  /** The values it stands for; none for a wildcard. */
  get values(): readonly Value[] {
    return this.#values;
  }

  /** Makes it that of another value. */
  standFor(value: Value): void {
    this.#values = [value];
  }

  /** Makes it that of one more value. */
  standForToo(value: Value): void {
    if (!this.#values.includes(value)) this.#values = [...this.#values, value];
  }

  /** What it may point to; where this is empty, it is a memory location by itself. */
  get pointsTo(): ReadonlySet<MemoryElement> {
    return this.#pointsTo ?? NONE;
  }

  /** What it may hold, as a list holds its elements. */
  get containedElements(): ReadonlySet<MemoryElement> {
    return this.#containedElements ?? NONE;
  }

  pointTo(target: MemoryElement): void {
    (this.#pointsTo ??= new Set()).add(target);
  }

  hold(contained: MemoryElement): void {
    (this.#containedElements ??= new Set()).add(contained);
  }
}

/**
 * Which element may point to which (PyTorch: MemoryDAG). The leaves are the memory locations: two elements may alias where
 * they can reach a common leaf.
 *
 * Elements and edges are added first; the first question freezes it, since answers are remembered.
 */
export class MemoryDag {
  readonly #elements: MemoryElement[] = [];
  readonly #locations = new Map<MemoryElement, MemoryLocations>();
  readonly #allContained = new Map<MemoryElement, MemoryLocations>();

  /** A new element that points to nothing; without a value, a wildcard. */
  makeFreshElement(value: Value | undefined): MemoryElement {
    const element = new MemoryElement(this.#elements.length, value);
    this.#elements.push(element);
    return element;
  }

  /** The element whose index a memory location has. */
  elementAt(index: number): MemoryElement {
    return this.#elements[index];
  }

  makePointerTo(from: MemoryElement, to: MemoryElement): void {
    if (from !== to) {
      invariant(!this.#locations.has(from), 'the memory DAG has answered questions about this element already');
      from.pointTo(to);
    }
  }

  addToContainedElements(contained: MemoryElement, container: MemoryElement): void {
    invariant(contained !== container, 'an element cannot contain itself');
    container.hold(contained);
  }

  /**
   * Makes every location of some elements point to the wildcard of their value's type, all at once at the end.
   *
   * A location keeps standing for itself beside the wildcard: that is how elements of other types, which the wildcard
   * does not stand for, go on being told apart (PyTorch: setWildcards).
   */
  setWildcards(
    wildcards: Iterable<readonly [MemoryElement, MemoryElement]>,
    wildcardOf: (value: Value) => MemoryElement | undefined,
  ): void {
    const rewritten = new Map<MemoryElement, MemoryLocations>();
    for (const [element, wildcard] of wildcards) {
      const locations = this.locationsOf(element);
      for (const index of locations) {
        const location = this.#elements[index];
        if (location !== wildcard) {
          location.pointTo(wildcard);
        }
      }
      let changed = rewritten.get(wildcard);
      if (changed === undefined) {
        rewritten.set(wildcard, (changed = new MemoryLocations()));
      }
      changed.addAll(locations);
    }
    for (const element of this.#elements) {
      const value = element.values.at(0);
      const wildcard = value === undefined ? undefined : wildcardOf(value);
      const changed = wildcard === undefined ? undefined : rewritten.get(wildcard);
      if (wildcard !== undefined && changed !== undefined && this.locationsOf(element).intersects(changed)) {
        this.locationsOf(element).add(wildcard.index);
      }
    }
  }

  /** The memory locations an element may stand for. */
  locationsOf(element: MemoryElement): MemoryLocations {
    const known = this.#locations.get(element);
    if (known !== undefined) {
      return known;
    }
    const { pointsTo } = element;
    const locations = new MemoryLocations(pointsTo.size === 0 ? element.index : undefined);
    // Set before the search, so that a cycle of pointers ends it.
    this.#locations.set(element, locations);
    for (const target of pointsTo) {
      locations.addAll(this.locationsOf(target));
    }
    return locations;
  }

  mayAlias(left: MemoryElement, right: MemoryElement): boolean {
    return this.locationsOf(left).intersects(this.locationsOf(right));
  }

  /** Whether either may hold memory that the other is or holds. */
  mayContainAlias(left: MemoryElement, right: MemoryElement): boolean {
    return this.allContainedLocationsOf(left).intersects(this.allContainedLocationsOf(right));
  }

  /** The locations of an element and of all it may hold, to any depth. */
  allContainedLocationsOf(element: MemoryElement): MemoryLocations {
    let contained = this.#allContained.get(element);
    if (contained === undefined) {
      contained = new MemoryLocations();
      this.#collectContained(element, contained);
      this.#allContained.set(element, contained);
    }
    return contained;
  }

  #collectContained(element: MemoryElement, into: MemoryLocations): void {
    if (into.has(element.index)) {
      return;
    }
    into.add(element.index);
    for (const index of this.locationsOf(element)) {
      this.#collectContained(this.#elements[index], into);
    }
    for (const contained of element.containedElements) {
      this.#collectContained(contained, into);
    }
  }
}
