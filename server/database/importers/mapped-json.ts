import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import { isMap } from '#core/value/value.ts';
import type { ImportJob } from './import-job.ts';
import type { ImportPart } from './import-settings.ts';
import type { FileMapping } from './json-mapping.ts';
import { JsonSections, type Section } from './json-sections.ts';
import { JsonValues } from './json-values.ts';
import { textOf } from './lines.ts';
import { type MappedRecord, mapped } from './mapped-record.ts';
import { MappedRecords } from './mapped-records.ts';

/** Objects of one transaction. */
const batchMax = 500;
/** Characters of the file in one transaction. */
const batchLengthMax = 1024 * 1024;

/**
 * A JSON file by a mapping (http-api.md 18.5): the objects below each name at the top of the file that the mapping has, or below
 * any other by its `*`; of a file that is an array its elements, by `*`. What the mapping does not name is left out.
 */
export async function importMappedJson(job: ImportJob, part: ImportPart): Promise<void> {
  const mapping = job.settings.mapping as FileMapping;
  const { sink, settings } = job;
  const records = new MappedRecords(job);
  const limit = settings.parsingLimitEntries ?? Number.POSITIVE_INFINITY;
  let batch: MappedRecord[] = [];
  let batchLength = 0;
  let index = 0;
  for await (const { name, text } of sectionsOf(job)) {
    const rule = mapping.get(name) ?? mapping.get('*');
    await sink.pace();
    if (rule === undefined) continue;
    index += 1;
    if (index <= part.skipEntries || index - part.skipEntries > limit) continue;
    const record = sink.rowOrSkip(() => mapped(rule, objectIn(text, index, job.depthMax)));
    if (record === undefined) continue;
    batch.push(record);
    batchLength += text.length;
    if (batch.length < Math.min(batchMax, settings.commitEvery ?? batchMax))
      if (batchLength < batchLengthMax) continue;
    await records.store(batch);
    batch = [];
    batchLength = 0;
  }
  if (batch.length > 0) await records.store(batch);
}

function objectIn(text: string, index: number, depthMax: number) {
  let why = 'is no object';
  try {
    const value = parseJson(text, { depthMax });
    if (isMap(value)) return value;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    why = error.message;
  }
  throw new DatabaseError('Validation', `value ${index} of the file: ${why}`);
}

async function* sectionsOf({ open, lineBytesMax }: ImportJob): AsyncGenerator<Section> {
  let reader: JsonSections | undefined;
  let values: JsonValues | undefined;
  for await (const piece of textOf(await open())) {
    if (reader === undefined && values === undefined) {
      if (piece.trim() === '') continue;
      if (/^\s*\[/u.test(piece)) values = new JsonValues(lineBytesMax);
      else reader = new JsonSections({ split: 'all', bytesMax: lineBytesMax });
    }
    if (reader !== undefined) yield* reader.write(piece);
    for (const text of values?.write(piece) ?? []) yield { name: '*', text };
  }
  reader?.end();
  for (const text of values?.end() ?? []) yield { name: '*', text };
}
