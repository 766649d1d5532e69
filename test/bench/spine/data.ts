/** 100,000 persons and 1,000,000 power-law KNOWS edges from a fixed seed; the same for every contestant. */

export const personCount = 100_000;
export const knowsCount = 1_000_000;

export interface SpineData {
  readonly persons: readonly Person[];
  /** Parallel arrays: person numbers. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly since: Uint16Array;
}

/** Some persons, or some edges as parallel arrays. */
export type SpinePart =
  | { readonly kind: 'persons'; readonly persons: readonly Person[] }
  | ({ readonly kind: 'edges' } & Pick<SpineData, 'from' | 'to' | 'since'>);

export interface Person {
  readonly id: number;
  readonly name: string;
  readonly age: number;
  readonly city: string;
  readonly score: number;
}

const cities = [
  'Lisbon',
  'Oslo',
  'Quito',
  'Dakar',
  'Hanoi',
  'Perth',
  'Turin',
  'Cairo',
  'Delhi',
  'Osaka',
  'Lima',
  'Accra',
  'Minsk',
  'Sofia',
  'Tunis',
  'Boise',
  'Davao',
  'Surat',
  'Izmir',
  'Natal',
];

export function makeSpineData(persons = personCount, edges = knowsCount, seed = 42): SpineData {
  const people: Person[] = [];
  const from = new Uint32Array(edges);
  const to = new Uint32Array(edges);
  const since = new Uint16Array(edges);
  let edge = 0;
  for (const part of spineParts(persons, edges, seed)) {
    if (part.kind === 'persons') people.push(...part.persons);
    else {
      from.set(part.from, edge);
      to.set(part.to, edge);
      since.set(part.since, edge);
      edge += part.from.length;
    }
  }
  return { persons: people, from, to, since };
}

const partLength = 5_000;

/** The same data in the same order, some thousand rows at a time, so that nobody needs to hold all of it. */
export function* spineParts(
  persons = personCount,
  edges = knowsCount,
  seed = 42,
): Generator<SpinePart> {
  const random = mulberry32(seed);
  for (let start = 0; start < persons; start += partLength) {
    const length = Math.min(partLength, persons - start);
    yield {
      kind: 'persons',
      persons: Array.from({ length }, (_, at) => personOf(start + at, random)),
    };
  }
  for (let start = 0; start < edges; start += partLength) {
    const length = Math.min(partLength, edges - start);
    const from = new Uint32Array(length);
    const to = new Uint32Array(length);
    const since = new Uint16Array(length);
    for (let edge = 0; edge < length; edge += 1) {
      from[edge] = powerLaw(random, persons);
      to[edge] = Math.floor(random() * persons);
      since[edge] = 1990 + Math.floor(random() * 35);
    }
    yield { kind: 'edges', from, to, since };
  }
}

function personOf(id: number, random: () => number): Person {
  return {
    id,
    name: `person ${id.toString(36)}`,
    age: 15 + Math.floor(random() * 75),
    city: cities[Math.floor(random() * random() * cities.length)] ?? 'Oslo',
    score: Math.floor(random() * 1e6) / 100 + 0.001,
  };
}

/** Density falls as rank^-1/2: the largest of 100,000 gets some 3,000 of a million edges. */
function powerLaw(random: () => number, count: number): number {
  const u = random();
  return Math.floor(u * u * count * 0.999) % count;
}

/** Small seeded generator (public domain algorithm mulberry32); period 2^32 is plenty here. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
