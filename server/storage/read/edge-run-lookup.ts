import type { Rid, TypeId } from '#core/value/rid.ts';
import { describeChunk } from '../format/adjacency-chunk.ts';
import { EdgePageReader } from '../format/edge-page.ts';
import type { Direction } from '../format/direction.ts';
import { EdgePageKey, readEdgePageKey } from '../format/sub-databases.ts';
import type { PinnedReader } from './pinned-reader.ts';

/** Edges with the vertices at their other ends. */
export interface FoundEdges {
  readonly edges: number[];
  readonly vertices: number[];
}

/**
 * The edges of a vertex that wait in runs, the oldest first: what its list will have behind what it has.
 * Cost: a search and a page or two for each run.
 * @param mergedRun the last run that the list holds
 */
export function edgesInRuns(
  reader: PinnedReader,
  { vertex, direction, type, mergedRun }: RunsOfVertex,
): FoundEdges {
  const found: FoundEdges = { edges: [], vertices: [] };
  for (const run of reader.edgeRuns.waiting) {
    if (run.type !== type || run.number <= mergedRun) continue;
    const key = new EdgePageKey();
    key.run = run.number;
    key.type = type;
    key.direction = direction;
    key.vertex = vertex;
    collect(reader, key, found);
  }
  return found;
}

interface RunsOfVertex {
  readonly vertex: Rid;
  readonly direction: Direction;
  readonly type: TypeId;
  readonly mergedRun: number;
}

const lastPart = 2 ** 32 - 1;

function collect(reader: PinnedReader, key: EdgePageKey, found: FoundEdges): void {
  const { vertex } = key;
  const last = lastPageUpTo(reader, key);
  if (last === undefined) return;
  key.vertex = last.vertex;
  const page = new EdgePageReader();
  for (let part = last.vertex === vertex ? 0 : last.part; part <= last.part; part += 1) {
    key.part = part;
    if (!openPage(reader, key, page)) continue;
    while (page.next() && page.vertex <= vertex)
      if (page.vertex === vertex) page.readInto(found.edges, found.vertices);
  }
}

/** The last page of the run, type and direction that begins with the vertex of the key, or before. */
function lastPageUpTo(
  reader: PinnedReader,
  key: EdgePageKey,
): ReturnType<typeof readEdgePageKey> | undefined {
  if (!reader.isOpen) throw reader.endedError();
  const { runs, sink } = reader.subs;
  const { transaction } = reader.options;
  const first = new EdgePageKey();
  Object.assign(first, key, { vertex: 0, part: 0 });
  key.part = lastPart;
  sink.length = 0;
  const range = {
    start: key,
    end: first,
    inclusiveEnd: true,
    reverse: true,
    limit: 1,
    transaction,
  };
  for (const _ of runs.getKeys(range)) return readEdgePageKey(sink.bytes, 0);
  return undefined;
}

/** Reads a page into the reader's window, and opens it there. @returns false when there is none */
export function openPage(reader: PinnedReader, key: EdgePageKey, page: EdgePageReader): boolean {
  const describe = () => describeChunk(key.vertex, key.direction);
  if (!reader.findChecked(reader.subs.runs, key, describe)) return false;
  page.open(reader.window, reader.window.base, key.vertex);
  return true;
}
