import { DatabaseError } from '#core/errors.ts';
import { noRid } from '#core/value/rid.ts';
import { isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { graphsonValue } from '../operations/export/graphson-values.ts';
import { bidirectionalMark } from '../operations/export/one-way-mark.ts';
import { fileJson } from './file-json.ts';
import { type ImportJob, textOr } from './import-job.ts';
import { linesOf } from './lines.ts';
import { edgePropertyName, propertyName } from './property-names.ts';

/** Where the id that a vertex had is kept; names with `@` are the server's own (http-api.md 18.5). */
const originalId = '_id';

/**
 * GraphSON as an adjacency list: one vertex a line with its outgoing edges; incoming ones are repetitions. The file is read
 * twice, since edges name vertices that come later. A property with several values becomes a list. Edges whose target is
 * missing are left out and count as warnings.
 */
export async function importGraphson(job: ImportJob): Promise<void> {
  const { sink, reporter } = job;
  await eachVertex(job, async (vertex) => {
    const label = textOr(vertex.get('label'), job.settings.vertexType);
    await sink.requireType('vertex', label);
    const id = idOf(vertex.get('id'));
    const properties = vertexProperties(vertex);
    if (id !== undefined && !properties.has(originalId)) properties.set(originalId, id);
    sink.addRecord('vertex', label, properties, { id });
  });
  await sink.flush();
  reporter.step('edges', undefined);
  await eachVertex(job, (vertex) => addEdges(job, vertex));
}

async function eachVertex(
  { open, lineBytesMax, depthMax, sink }: ImportJob,
  handle: (vertex: ValueMap) => Promise<void>,
): Promise<void> {
  for await (const line of linesOf(await open(), lineBytesMax)) {
    try {
      const json = fileJson(line.bytes, depthMax);
      if (!isMap(json)) throw new DatabaseError('Validation', 'it is no vertex of GraphSON');
      await handle(json);
      await sink.pace();
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code === 'Cancelled') throw error;
      throw new DatabaseError(error.code, `Line ${line.number}: ${error.message}`, {
        arguments: error.arguments,
        cause: error,
      });
    }
  }
}

async function addEdges({ sink }: ImportJob, vertex: ValueMap): Promise<void> {
  const groups = vertex.get('outE');
  if (groups === undefined || !isMap(groups)) return;
  const from = sink.ridOf(idOf(vertex.get('id')) ?? '');
  for (const [label, edges] of groups) {
    if (!isList(edges)) continue;
    await sink.requireType('edge', label);
    for (const edge of edges) {
      const target = isMap(edge) ? idOf(edge.get('inV')) : undefined;
      const to = target === undefined ? noRid : sink.ridOf(target);
      if (!isMap(edge) || to === noRid || from === noRid) {
        sink.counts.warnings += 1;
        continue;
      }
      const properties = edgeProperties(edge);
      const isOneWay = properties.get(bidirectionalMark) === false;
      properties.delete(bidirectionalMark);
      sink.addEdge(label, from, to, properties, { isOneWay });
      await sink.pace();
    }
  }
}

/** An id as a text: typed and plain ones of all kinds. */
function idOf(json: Value | undefined): string | undefined {
  if (json === undefined || json === null) return undefined;
  const value = graphsonValue(json, () => {});
  return typeof value === 'string' ? value : String(value);
}

function vertexProperties(vertex: ValueMap): Map<string, Value> {
  const properties = new Map<string, Value>();
  const given = vertex.get('properties');
  if (given === undefined || !isMap(given)) return properties;
  for (const [name, held] of given) {
    const values = (isList(held) ? held : [held]).map((one) =>
      graphsonValue(isMap(one) && one.has('value') ? (one.get('value') ?? null) : one, () => {}),
    );
    const [first = null] = values;
    properties.set(propertyName(name), values.length === 1 ? first : values);
  }
  return properties;
}

function edgeProperties(edge: ValueMap): Map<string, Value> {
  const given = edge.get('properties');
  if (given === undefined || !isMap(given)) return new Map();
  return new Map([...given].map(([name, value]) => [edgePropertyName(name), edgeValue(value)]));
}

/** TinkerPop 3 writes a property of an edge as its value, or with its key beside it. */
function edgeValue(json: Value): Value {
  const isProperty = isMap(json) && json.has('key') && json.has('value');
  return graphsonValue(isProperty ? (json.get('value') ?? null) : json, () => {});
}
