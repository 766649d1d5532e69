import type { TypeDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatRid, type Rid } from '#core/value/rid.ts';
import { TargetLists } from '#transaction/write/target-lists.ts';
import { type ExportSource, recordPieces } from './reader.ts';
import { graphsonJson } from './graphson-values.ts';
import { bidirectionalMark, isOneWay } from './one-way-mark.ts';

interface Writing extends ExportSource {
  readonly targets: TargetLists;
}

/**
 * GraphSON 3 as an adjacency list, one vertex a line with its outgoing edges (http-api.md 18.5). Documents have no place in it and
 * count as warnings. Edges that only their sources list are marked.
 */
export async function* graphsonPieces(source: ExportSource): AsyncGenerator<string> {
  const { view, totals } = source;
  const edgeTypes = view.catalog.types().filter(({ kind }) => kind === 'edge');
  for (const type of view.catalog.types())
    if (type.kind === 'document')
      for (const bucket of type.buckets) totals.warnings += view.recordCount(bucket);
  const writing = { ...source, targets: new TargetLists(view.snapshot) };
  yield* recordPieces(source, ['vertex'], (vertex) => vertexLine(vertex, edgeTypes, writing));
}

function vertexLine(
  vertex: StoredRecord,
  edgeTypes: readonly TypeDefinition[],
  source: Writing,
): string {
  const groups: string[] = [];
  for (const type of edgeTypes) {
    const edges = outgoing(vertex.rid, type, source);
    if (edges !== '') groups.push(`${JSON.stringify(type.name)}:[${edges}]`);
  }
  const outE = groups.length === 0 ? '' : `,"outE":{${groups.join(',')}}`;
  const properties = vertex.propertyNames().map((name) => {
    const value = graphsonJson(vertex.get(name) ?? null);
    return `${JSON.stringify(name)}:[{"id":${graphsonJson(`${formatRid(vertex.rid)}/${name}`)},"value":${value}}]`;
  });
  const id = JSON.stringify(formatRid(vertex.rid));
  const label = JSON.stringify(vertex.typeName);
  const held = properties.length === 0 ? '' : `,"properties":{${properties.join(',')}}`;
  return `{"id":${id},"label":${label}${outE}${held}}\n`;
}

function outgoing(vertex: Rid, type: TypeDefinition, { view, totals, targets }: Writing): string {
  const { count, edges, vertices } = view.adjacency(vertex, 'out', type.id);
  const parts: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const edge = view.record(edges[at] as Rid);
    const id = JSON.stringify(formatRid(edges[at] as Rid));
    const inV = JSON.stringify(formatRid(vertices[at] as Rid));
    const isMarked = edge !== undefined && isOneWay(edge, type, targets);
    parts.push(`{"id":${id},"inV":${inV}${edgeProperties(edge, isMarked)}}`);
    totals.edges += 1;
  }
  return parts.join(',');
}

function edgeProperties(edge: StoredRecord | undefined, isMarked: boolean): string {
  const parts = (edge?.propertyNames() ?? []).map(
    (name) => `${JSON.stringify(name)}:${graphsonJson(edge?.get(name) ?? null)}`,
  );
  if (isMarked) parts.unshift(`${JSON.stringify(bidirectionalMark)}:false`);
  return parts.length === 0 ? '' : `,"properties":{${parts.join(',')}}`;
}
