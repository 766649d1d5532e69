import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { noRid } from '#core/value/rid.ts';
import { type ImportJob, textOr } from './import-job.ts';
import type { ImportPart } from './import-settings.ts';
import { JsonValues } from './json-values.ts';
import { textOf } from './lines.ts';
import { declareVertexId, knowStoredVertices } from './vertex-ids.ts';

/**
 * A JSON file (http-api.md 18.5): an object is stored as one document, an array as one for each of its objects, and so are
 * objects that stand one after the other. Objects of vertices and edges name themselves by the fields of the settings.
 */
export async function importJson(job: ImportJob, part: ImportPart): Promise<void> {
  const { open, sink, lineBytesMax } = job;
  if (part.content === 'edges') await knowStoredVertices(job);
  if (part.content === 'vertices') {
    await sink.requireType('vertex', job.settings.vertexType);
    await declareVertexId(job);
  }
  const reader = new JsonValues(lineBytesMax);
  let index = 0;
  const take = async (texts: readonly string[]): Promise<void> => {
    for (const text of texts) {
      index += 1;
      if (index <= part.skipEntries) continue;
      if (index - part.skipEntries > (job.settings.parsingLimitEntries ?? Infinity)) return;
      await addValue(job, part, text, index);
      await sink.pace();
    }
    await sink.pace();
  };
  for await (const piece of textOf(await open())) await take(reader.write(piece));
  await take(reader.end());
  await sink.flush();
}

async function addValue(
  job: ImportJob,
  part: ImportPart,
  text: string,
  index: number,
): Promise<void> {
  let value: Value;
  try {
    value = parseJson(text, { depthMax: job.depthMax });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new DatabaseError('Validation', `value ${index} of the file: ${error.message}`);
  }
  if (!isMap(value))
    throw new DatabaseError('Validation', `value ${index} of the file is no object`);
  await addObject(job, part, value);
}

async function addObject(job: ImportJob, part: ImportPart, object: ValueMap): Promise<void> {
  const { sink, settings } = job;
  if (part.content === 'edges') return addEdge(job, object);
  const kind = part.content === 'vertices' ? 'vertex' : 'document';
  const otherwise = kind === 'vertex' ? settings.vertexType : settings.documentType;
  const type = textOr(object.get('@type'), otherwise);
  await sink.requireType(kind, type);
  const idName = settings.typeIdProperty;
  const id = kind === 'vertex' && idName !== undefined ? object.get(idName) : undefined;
  sink.addRecord(kind, type, included(object, part), {
    id: id === undefined || id === null ? undefined : textOr(id, ''),
  });
}

async function addEdge({ sink, settings }: ImportJob, object: ValueMap): Promise<void> {
  const fromName = settings.edgeFromField ?? 'from';
  const toName = settings.edgeToField ?? 'to';
  const from = sink.ridOf(textOr(object.get(fromName), ''));
  const to = sink.ridOf(textOr(object.get(toName), ''));
  if (from === noRid || to === noRid) {
    sink.counts.warnings += 1;
    return;
  }
  const type = textOr(object.get('@type'), settings.edgeType);
  await sink.requireType('edge', type);
  const properties = new Map(object);
  properties.delete(fromName);
  properties.delete(toName);
  sink.addEdge(type, from, to, withoutSystemNames(properties));
}

function included(object: ValueMap, { include }: ImportPart): ValueMap {
  const properties = withoutSystemNames(object);
  if (include === undefined) return properties;
  return new Map([...properties].filter(([name]) => include.has(name)));
}

/** What a query printed comes back without `@rid` and its like. */
function withoutSystemNames(object: ValueMap): ValueMap {
  return new Map([...object].filter(([name]) => !name.startsWith('@')));
}
