// Goal: the selectors give the shortest of all paths, those that return to their start too; the functions leave these out. Method:
// random graphs with loops and parallel edges; between any two nodes, the trails that MATCH lists, of least length, as the model.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';

let opened: Promise<TestDatabase> | undefined;
after(async () => (await opened)?.close());

const edgesArbitrary = fc.array(
  fc.record({ from: fc.nat(4), to: fc.nat(4), w: fc.constantFrom(0, 0, 1) }),
  { minLength: 3, maxLength: 8 },
);

const pattern = fc.constantFrom(
  { before: '-[r:Step', after: ']->' },
  { before: '<-[r:Step', after: ']-' },
  { before: '-[r:Step', after: ']-' },
);

interface Found {
  readonly from: number;
  readonly to: number;
  readonly edges: readonly number[];
}

/** For each two nodes the paths of fewest edges, in an order of their own. */
function shortestOf(rows: readonly Found[]): Map<string, string[]> {
  const least = new Map<string, Found[]>();
  for (const row of rows) {
    const pair = `${row.from} to ${row.to}`;
    const [known] = least.get(pair) ?? [];
    if (known === undefined || known.edges.length > row.edges.length) least.set(pair, [row]);
    else if (known.edges.length === row.edges.length) least.get(pair)?.push(row);
  }
  return new Map(
    [...least]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([pair, found]) => [pair, found.map(({ edges }) => edges.join(' ')).sort()]),
  );
}

test('ALL SHORTEST gives the trails of least length, ANY SHORTEST one of them, also from a node to itself', async () => {
  opened ??= openTestDatabase();
  const database = await opened;
  const seen = { closed: 0, several: 0 };
  await fc.assert(
    fc.asyncProperty(
      edgesArbitrary,
      pattern,
      fc.constantFrom('', ' {w: 0}'),
      fc.constantFrom(2, 3, 8),
      async (edges, { before, after: arrow }, properties, max) => {
        await database.run('MATCH (n:Place) DETACH DELETE n', {}, {}, 'cypher');
        const nodes = [0, 1, 2, 3, 4].map((n) => `(n${n}:Place {n: ${n}})`);
        const links = edges.map(
          ({ from, to, w }, k) => `(n${from})-[:Step {k: ${k}, w: ${w}}]->(n${to})`,
        );
        await database.run(`CREATE ${[...nodes, ...links].join(', ')}`, {}, {}, 'cypher');
        const rowsOf = async (text: string) =>
          (await database.run(text, {}, {}, 'cypher')) as unknown as readonly Found[];
        const columns = 'RETURN a.n AS from, b.n AS to, [x IN r | x.k] AS edges';
        const trails = shortestOf(
          await rowsOf(
            `MATCH (a:Place)${before}*1..${max}${properties}${arrow}(b:Place) ${columns}`,
          ),
        );
        const relationship = `(a:Place)${before}${properties}${arrow}{1,${max}}(b:Place)`;
        const all = await rowsOf(`MATCH p = ALL SHORTEST ${relationship} ${columns}`);
        assert.deepEqual(shortestOf(all), trails);
        assert.equal(all.length, [...trails.values()].flat().length);
        const any = await rowsOf(`MATCH p = ANY SHORTEST ${relationship} ${columns}`);
        assert.equal(any.length, trails.size);
        for (const { from, to, edges: found } of any) {
          const expected = trails.get(`${from} to ${to}`) ?? [];
          assert.ok(expected.includes(found.join(' ')), `${from} to ${to} over ${found.join(' ')}`);
          if (from === to) seen.closed += 1;
          if (expected.length > 1) seen.several += 1;
        }
        const called = await rowsOf(
          `MATCH allShortestPaths((a:Place)${before}*..${max}${properties}${arrow}(b:Place)) ${columns}`,
        );
        const open = [...trails].filter(([pair]) => pair[0] !== pair.at(-1));
        assert.deepEqual([...shortestOf(called)], open);
      },
    ),
    { numRuns: 60 },
  );
  assert.ok(seen.closed > 20 && seen.several > 20, JSON.stringify(seen));
});
