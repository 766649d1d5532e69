import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

// Random shapes of the whole globe, its poles and the antimeridian: each predicate finds the same rows with an index of either
// tokenization as without one, and the nearest are those of a sort. `npm run search` tries 4,000 shapes.

const shapeCount = Number(process.env['SEARCH_SHAPES'] ?? 600);
const questionCount = Math.min(30, Math.max(4, shapeCount / 100));
const batch = 200;

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Random = () => number;

/** Most are anywhere; some lie about a pole, the antimeridian or a crowded town. */
function middle(random: Random): readonly [number, number] {
  const kind = Math.floor(random() * 5);
  if (kind === 0) return [random() * 360 - 180, random() < 0.5 ? 89.5 : -89.5];
  if (kind === 1) return [random() < 0.5 ? 179.7 : -179.7, random() * 170 - 85];
  if (kind === 2) return [8 + random(), 50 + random()];
  return [random() * 360 - 180, random() * 178 - 89];
}

const shown = (x: number, y: number) => `${x.toFixed(4)} ${y.toFixed(4)}`;

function shape(random: Random, radiusMax: number): string {
  const [x, y] = middle(random);
  const kind = Math.floor(random() * 4);
  if (kind === 0) return `POINT (${shown(x, y)})`;
  const radius = radiusMax * random() ** 3 + 0.01;
  const at = (angle: number) => shown(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  if (kind === 1) return `LINESTRING (${at(random() * 6)}, ${shown(x, y)}, ${at(random() * 6)})`;
  const corners = 3 + Math.floor(random() * 4);
  const ring = Array.from({ length: corners }, (_, i) => at((i / corners) * 2 * Math.PI));
  return `POLYGON ((${[...ring, ring[0]].join(', ')}))`;
}

const predicates = [
  'within',
  'intersects',
  'contains',
  'crosses',
  'overlaps',
  'touches',
  'equals',
  'disjoint',
];

async function open(random: Random): Promise<TestDatabase> {
  const database = await openTestDatabase();
  for (const type of ['Plain', 'Frontier', 'Full'])
    for (const statement of [`CREATE DOCUMENT TYPE ${type}`, `CREATE PROPERTY ${type}.g STRING`])
      await database.run(statement);
  await database.run('CREATE INDEX ON Frontier (g) GEOSPATIAL METADATA {"precision": 7}');
  await database.run('CREATE INDEX ON Full (g) GEOSPATIAL METADATA {"tokenization": "FULL"}');
  for (let from = 0; from < shapeCount; from += batch) {
    const rows = Array.from({ length: batch }, (_, i) => ({ n: from + i, g: shape(random, 12) }));
    for (const type of ['Plain', 'Frontier', 'Full'])
      await database.run(`INSERT INTO ${type} CONTENT :rows`, {
        rows: rows.map((row) => new Map(Object.entries(row))),
      } as never);
  }
  return database;
}

async function numbers(database: TestDatabase, text: string, area: string): Promise<number[]> {
  const rows = await database.run(text, { area });
  return rows.map(({ n }) => Number(n));
}

test('predicates find the same shapes with an index and without', async () => {
  const random = seeded(20);
  const database = await open(random);
  try {
    let found = 0;
    for (let question = 0; question < questionCount; question += 1) {
      const area = shape(random, 40);
      for (const predicate of predicates) {
        const text = (type: string) =>
          `SELECT n FROM ${type} WHERE geo.${predicate}(g, :area) ORDER BY n`;
        const wanted = await numbers(database, text('Plain'), area);
        found += wanted.length;
        for (const type of ['Frontier', 'Full'])
          assert.deepEqual(
            await numbers(database, text(type), area),
            wanted,
            `${type} ${predicate} ${area}`,
          );
      }
    }
    assert.ok(found > shapeCount);
  } finally {
    await database.close();
  }
});

test('the nearest are those of a sort', async () => {
  const random = seeded(21);
  const database = await open(random);
  try {
    for (let question = 0; question < questionCount; question += 1) {
      const here = `POINT (${shown(...middle(random))})`;
      const distances = async (text: string) => {
        const rows = await database.run(text, { here });
        return rows.map(({ d }) => Number(d));
      };
      const all = await distances('SELECT geo.distance(g, :here) AS d FROM Plain');
      const wanted = all.sort((a, b) => a - b).slice(0, 10);
      for (const type of ['Frontier', 'Full']) {
        const nearest = `SELECT geo.distance(g, :here) AS d FROM ${type} ORDER BY geo.distance(g, :here) LIMIT 10`;
        assert.deepEqual(await distances(nearest), wanted, `${type} ${here}`);
      }
    }
  } finally {
    await database.close();
  }
});
