import type { Storage } from '@cresset/tensor';
import type { LaunchStep } from '../program/launch-program.ts';

/** What a launch has to wait for, among those of a program. */
export interface LaunchPlace {
  /** Launches that have to be done before it. */
  readonly before: ReadonlySet<number>;
  /** So many launches, it included, follow each other up to it. */
  level: number;
  /** And from it on. */
  depth: number;
}

/** @param homeOf the storage in whose memory one lies */
export function placesOf(
  launches: readonly LaunchStep[],
  homeOf: (storage: Storage) => Storage = (storage) => storage,
): LaunchPlace[] {
  const writers = new Map<Storage, number>();
  const readers = new Map<Storage, number[]>();
  const places: LaunchPlace[] = [];
  launches.forEach(({ launch, storages }, at) => {
    const before = new Set<number>();
    const homes = storages.map(homeOf);
    homes.forEach((home, binding) => {
      const writer = writers.get(home);
      if (writer !== undefined) before.add(writer);
      if (launch.bindings[binding].stored) for (const reader of readers.get(home) ?? []) before.add(reader);
    });
    homes.forEach((home, binding) => {
      if (!launch.bindings[binding].stored) readers.set(home, [...(readers.get(home) ?? []), at]);
      else {
        writers.set(home, at);
        readers.delete(home);
      }
    });
    places.push({ before, level: 1 + Math.max(0, ...[...before].map((other) => places[other].level)), depth: 1 });
  });
  for (const { before, depth } of places.toReversed()) {
    for (const other of before) places[other].depth = Math.max(places[other].depth, depth + 1);
  }
  return places;
}
