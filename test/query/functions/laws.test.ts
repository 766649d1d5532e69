import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Rid, TypeId } from '#core/value/rid.ts';
import { double, type Value } from '#core/value/value.ts';
import { roundDouble } from '#query/functions/namespaced/rounding.ts';
import { bufferOf } from '#query/functions/geo/buffer.ts';
import {
  closeRing,
  type Geometry,
  lineGeometry,
  pointGeometry,
  polygonGeometry,
  segmentsOf,
} from '#index/geo/geometry.ts';
import { areaOf } from '#index/geo/measure.ts';
import { distanceToSegment, predicates } from '#query/functions/geo/relate.ts';
import { unionOf } from '#query/functions/geo/union.ts';
import { formatWkt, parseWkt, wktFault } from '#index/geo/wkt.ts';
import { PriorityQueue } from '#query/functions/paths/priority-queue.ts';
import { GraphSearch, type PathSteps } from '#query/functions/paths/graph-search.ts';
import { shortestPath } from '#query/functions/paths/shortest-path.ts';
import { VertexTable } from '#query/functions/paths/vertex-table.ts';
import { bellmanFordPath, weightedPath } from '#query/functions/paths/weighted-path.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { toDouble } from '#query/functions/arguments.ts';
import { sampleContext } from './sample-context.ts';

/** Laws that hold for all inputs, against slow and obvious models. */
const context = sampleContext();

function aggregateOf(name: string, values: readonly Value[]): Value {
  const accumulator = functionRegistry.aggregate(name)?.create();
  for (const value of values) accumulator?.add([value], context);
  return accumulator?.result(context) ?? null;
}

test('sums of integers are exact and do not depend on the order of the rows', () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }), { minLength: 1, maxLength: 7 }),
      (numbers) => {
        const values = numbers.map((n) => (Number.isSafeInteger(Number(n)) ? Number(n) : n));
        const total = numbers.reduce((a, b) => a + b, 0n);
        if (total >= 2n ** 63n || total < -(2n ** 63n)) return;
        assert.equal(BigInt(aggregateOf('sum', values) as number | bigint), total);
        assert.equal(BigInt(aggregateOf('sum', values.toReversed()) as number | bigint), total);
      },
    ),
  );
});

test('variance agrees with its definition', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 2 }), (numbers) => {
      const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
      const squares = numbers.reduce((sum, n) => sum + (n - mean) ** 2, 0);
      const close = (name: string, expected: number) =>
        assert.ok(Math.abs(toDouble(aggregateOf(name, numbers)) - expected) < 1e-6);
      close('variance', squares / (numbers.length - 1));
      close('variancep', squares / numbers.length);
      close('stddevp', Math.sqrt(squares / numbers.length));
    }),
  );
});

test('the median lies in the middle of the sorted values', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1 }), (numbers) => {
      const sorted = numbers.toSorted((a, b) => a - b);
      const half = sorted.length >> 1;
      const expected =
        sorted.length % 2 === 1
          ? (sorted[half] as number)
          : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
      assert.ok(Math.abs(toDouble(aggregateOf('median', numbers)) - expected) < 1e-6);
    }),
  );
});

test('rounding by HALF_UP at the digits of a number changes nothing', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e9, max: 1e9 }),
      fc.integer({ min: 0, max: 6 }),
      (n, digits) => {
        const x = n / 10 ** digits;
        assert.equal(roundDouble(x, digits, 'HALF_UP'), x);
      },
    ),
  );
});

test('a queue gives its items in the order of their keys', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (keys) => {
      const queue = new PriorityQueue();
      for (const key of keys) queue.add(key, key);
      const taken: number[] = [];
      for (let item = queue.take(); item >= 0; item = queue.take()) taken.push(item);
      assert.deepEqual(
        taken,
        keys.toSorted((a, b) => a - b),
      );
    }),
  );
});

test('vertices keep the numbers in whose order they were met', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 400 }), (rids) => {
      const table = new VertexTable();
      const met = [...new Set(rids)];
      for (const rid of rids) assert.equal(table.add(rid as Rid), met.indexOf(rid));
      met.forEach((rid, number) => {
        assert.equal(table.numberOf(rid as Rid), number);
        assert.equal(table.ridOf(number), rid);
      });
      assert.equal(table.numberOf((2 ** 41) as Rid), -1);
      assert.equal(table.size, met.length);
    }),
  );
});

type Edge = readonly [from: number, to: number, weight: number];

/** A graph with one edge type behind the part of a view that searches use. */
function searchOver(edges: readonly Edge[]): GraphSearch {
  const list = (selected: readonly (readonly [Edge, number])[], far: 0 | 1) => ({
    count: selected.length,
    edges: Float64Array.from(selected, ([, id]) => 1000 + id),
    vertices: Float64Array.from(selected, ([edge]) => edge[far]),
  });
  const numbered = edges.map((edge, id) => [edge, id] as const);
  const view = {
    adjacency: (vertex: number, direction: 'out' | 'in') =>
      direction === 'out'
        ? list(
            numbered.filter(([edge]) => edge[0] === vertex),
            1,
          )
        : list(
            numbered.filter(([edge]) => edge[1] === vertex),
            0,
          ),
    record: (rid: number) => ({ get: () => double(edges[rid - 1000]?.[2] ?? 0) }),
  };
  let asked = 0;
  // Searches pause at every third edge here, which must change nothing.
  const meter = { isSpent: () => ++asked % 3 === 0 };
  return new GraphSearch(sampleContext({ view: view as never }), [1 as TypeId], meter);
}

function finished(steps: PathSteps): readonly Rid[] {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const vertexCount = 8;

function arbitraryEdges(weights: { readonly min: number; readonly max: number }) {
  const vertex = fc.integer({ min: 0, max: vertexCount - 1 });
  return fc.array(fc.tuple(vertex, vertex, fc.integer(weights)), { maxLength: 24 });
}

/** Least cost between all pairs (Floyd and Warshall). */
function leastCosts(edges: readonly Edge[]): number[][] {
  const costs = Array.from({ length: vertexCount }, (_, i) =>
    Array.from({ length: vertexCount }, (_, j) => (i === j ? 0 : Infinity)),
  );
  const at = (i: number, j: number) => costs[i]?.[j] ?? Infinity;
  for (const [from, to, weight] of edges)
    (costs[from] as number[])[to] = Math.min(at(from, to), weight);
  for (let k = 0; k < vertexCount; k++)
    for (let i = 0; i < vertexCount; i++)
      for (let j = 0; j < vertexCount; j++)
        (costs[i] as number[])[j] = Math.min(at(i, j), at(i, k) + at(k, j));
  return costs;
}

function costOf(route: readonly Rid[], edges: readonly Edge[]): number {
  let cost = 0;
  for (let i = 1; i < route.length; i++) {
    const steps = edges.filter((edge) => edge[0] === route[i - 1] && edge[1] === route[i]);
    assert.ok(steps.length > 0, 'a route follows edges');
    cost += Math.min(...steps.map((edge) => edge[2]));
  }
  return cost;
}

test('shortest paths have the least number of edges', () => {
  fc.assert(
    fc.property(arbitraryEdges({ min: 1, max: 1 }), (edges) => {
      const costs = leastCosts(edges);
      const search = searchOver(edges);
      for (let from = 0; from < vertexCount; from++)
        for (let to = 0; to < vertexCount; to++) {
          const options = { direction: 'OUT', maxDepth: Infinity, withEdges: false } as const;
          const route = finished(shortestPath(from as Rid, to as Rid, search, options));
          const least = costs[from]?.[to] as number;
          if (least === Infinity) assert.deepEqual(route, []);
          else assert.equal(costOf(route, edges), least);
          const cut = finished(
            shortestPath(from as Rid, to as Rid, search, { ...options, maxDepth: 2 }),
          );
          assert.equal(cut.length > 0, least <= 2);
        }
    }),
    { numRuns: 60 },
  );
});

test('weighted paths have the least weight', () => {
  fc.assert(
    fc.property(arbitraryEdges({ min: 0, max: 9 }), (edges) => {
      const costs = leastCosts(edges);
      const search = searchOver(edges);
      const options = { weightProperty: 'w', direction: 'OUT' } as const;
      for (let to = 0; to < vertexCount; to++) {
        const least = costs[0]?.[to] as number;
        const routes = [
          weightedPath(0 as Rid, to as Rid, search, {
            ...options,
            maxDepth: Infinity,
            emptyIfMaxDepth: true,
            remainingCost: () => 0,
          }),
          weightedPath(0 as Rid, to as Rid, search, {
            ...options,
            maxDepth: vertexCount,
            emptyIfMaxDepth: true,
            remainingCost: () => 0,
          }),
          bellmanFordPath(0 as Rid, to as Rid, search, options),
        ];
        for (const route of routes.map(finished))
          if (least === Infinity) assert.deepEqual(route, []);
          else assert.equal(costOf(route, edges), least);
      }
    }),
    { numRuns: 60 },
  );
});

test('negative weights are for bellmanFord, which refuses a cycle of negative weight', () => {
  const search = searchOver([
    [0, 1, 5],
    [0, 2, 9],
    [2, 1, -7],
  ]);
  const options = { weightProperty: 'w', direction: 'OUT' } as const;
  assert.deepEqual(finished(bellmanFordPath(0 as Rid, 1 as Rid, search, options)), [0, 2, 1]);
  assert.throws(
    () =>
      finished(
        weightedPath(0 as Rid, 1 as Rid, searchOver([[0, 1, -1]]), {
          ...options,
          maxDepth: Infinity,
          emptyIfMaxDepth: true,
          remainingCost: () => 0,
        }),
      ),
    /negative weight -1/,
  );
  const cycle = searchOver([
    [0, 1, 1],
    [1, 0, -2],
  ]);
  assert.throws(
    () => finished(bellmanFordPath(0 as Rid, 1 as Rid, cycle, options)),
    /cycle of negative weight/,
  );
});

function arbitraryBox(): fc.Arbitrary<Geometry> {
  const side = fc.integer({ min: 0, max: 6 });
  const size = fc.integer({ min: 1, max: 4 });
  return fc.tuple(side, side, size, size).map(([x, y, width, height]) =>
    polygonGeometry([
      closeRing([
        { x, y },
        { x: x + width, y },
        { x: x + width, y: y + height },
        { x, y: y + height },
      ]),
    ]),
  );
}

test('predicates on boxes agree with comparing their sides', () => {
  fc.assert(
    fc.property(arbitraryBox(), arbitraryBox(), (a, b) => {
      const [p, q] = [boundsOf(a), boundsOf(b)];
      const touchesOrMore = p.x1 <= q.x2 && q.x1 <= p.x2 && p.y1 <= q.y2 && q.y1 <= p.y2;
      const sharesArea = p.x1 < q.x2 && q.x1 < p.x2 && p.y1 < q.y2 && q.y1 < p.y2;
      const isInside = p.x1 >= q.x1 && p.x2 <= q.x2 && p.y1 >= q.y1 && p.y2 <= q.y2;
      const holds = q.x1 >= p.x1 && q.x2 <= p.x2 && q.y1 >= p.y1 && q.y2 <= p.y2;
      assert.equal(predicates.intersects(a, b), touchesOrMore);
      assert.equal(predicates.disjoint(a, b), !touchesOrMore);
      assert.equal(predicates.touches(a, b), touchesOrMore && !sharesArea);
      assert.equal(predicates.within(a, b), isInside);
      assert.equal(predicates.contains(a, b), holds);
      assert.equal(predicates.equals(a, b), isInside && holds);
      assert.equal(predicates.overlaps(a, b), sharesArea && !isInside && !holds);
    }),
  );
});

function boundsOf(box: Geometry) {
  const ring = box.polygons[0]?.[0] ?? [];
  const xs = ring.map((point) => point.x);
  const ys = ring.map((point) => point.y);
  return { x1: Math.min(...xs), x2: Math.max(...xs), y1: Math.min(...ys), y2: Math.max(...ys) };
}

test('a point and an area are related as a set of that one point is', () => {
  const coordinate = fc.integer({ min: -4, max: 4 });
  const corner = fc.tuple(coordinate, coordinate);
  fc.assert(
    fc.property(fc.array(corner, { minLength: 3, maxLength: 8 }), corner, (corners, [x, y]) => {
      const ring = [...corners, corners[0] as (typeof corners)[0]].map((at) => at.join(' '));
      const area = parseWkt(`POLYGON ((${ring.join(', ')}))`) as Geometry;
      const one = parseWkt(`POINT (${x / 2} ${y / 2})`) as Geometry;
      const many = parseWkt(`MULTIPOINT (${x / 2} ${y / 2})`) as Geometry;
      for (const [name, holds] of Object.entries(predicates)) {
        assert.equal(holds(one, area), holds(many, area), name);
        assert.equal(holds(area, one), holds(area, many), name);
      }
    }),
  );
});

test('the union of boxes covers the cells that they cover', () => {
  fc.assert(
    fc.property(fc.array(arbitraryBox(), { minLength: 1, maxLength: 6 }), (boxes) => {
      const cells = new Set<string>();
      for (const box of boxes) {
        const { x1, x2, y1, y2 } = boundsOf(box);
        for (let x = x1; x < x2; x++) for (let y = y1; y < y2; y++) cells.add(`${x},${y}`);
      }
      const union = unionOf(boxes.flatMap((box) => box.polygons));
      assert.ok(Math.abs(areaOf(union) - cells.size) < 1e-6);
    }),
  );
});

test('a buffer around a path holds the points that are near and no others', () => {
  const coordinate = fc.integer({ min: -20, max: 20 });
  const point = fc.record({ x: coordinate, y: coordinate });
  fc.assert(
    fc.property(
      fc.uniqueArray(point, { minLength: 3, maxLength: 6, selector: ({ x, y }) => `${x} ${y}` }),
      point,
      (path, probe) => {
        const round = { quadrantSegments: 16, endCapStyle: 'ROUND', joinStyle: 'ROUND' } as const;
        const buffer = bufferOf(lineGeometry(path), 3, round);
        const away = Math.min(
          ...segmentsOf(path).map((segment) => distanceToSegment(probe, segment)),
        );
        // Between the circle and its polygon nothing is said.
        if (away > 2.98 && away < 3.02) return;
        assert.equal(predicates.within(pointGeometry(probe), buffer), away < 3);
      },
    ),
    { numRuns: 60 },
  );
});

test('well-known text survives being read and written', () => {
  fc.assert(
    fc.property(arbitraryBox(), (box) => {
      const text = formatWkt(box);
      assert.equal(formatWkt(parseWkt(text) as Geometry), text);
    }),
  );
  for (const broken of ['', 'POINT', 'POINT (1)', 'POINT (1 2', 'POLYGON ((0 0, 1 1))', 'x(1 2)'])
    assert.equal(parseWkt(broken), undefined, broken);
});

test('well-known text is read up to its bound of coordinates, which the refusal names', () => {
  const line = (count: number): string =>
    `LINESTRING (${Array.from({ length: count }, (_, n) => `${n % 90} 1`).join(', ')})`;
  assert.equal(parseWkt(line(10_000))?.lines[0]?.length, 10_000);
  assert.equal(parseWkt(line(10_001)), undefined);
  assert.match(wktFault(line(10_001)) ?? '', /more than 10,000 coordinates/);
  assert.equal(wktFault(line(10_000)), undefined);
  assert.equal(wktFault('POINT (1'), 'is no WKT');
});
