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
  const random = mulberry32(seed);
  const people = Array.from({ length: persons }, (_, id) => ({
    id,
    name: `person ${id.toString(36)}`,
    age: 15 + Math.floor(random() * 75),
    city: cities[Math.floor(random() * random() * cities.length)] ?? 'Oslo',
    score: Math.floor(random() * 1e6) / 100 + 0.001,
  }));
  const from = new Uint32Array(edges);
  const to = new Uint32Array(edges);
  const since = new Uint16Array(edges);
  for (let edge = 0; edge < edges; edge += 1) {
    from[edge] = powerLaw(random, persons);
    to[edge] = Math.floor(random() * persons);
    since[edge] = 1990 + Math.floor(random() * 35);
  }
  return { persons: people, from, to, since };
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
