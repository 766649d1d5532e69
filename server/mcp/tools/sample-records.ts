import type { Slices } from '#core/value/json-slices.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { schemaTypes } from '../content/schema-document.ts';
import { concatenated, type Pieces } from '../protocol/long-json.ts';
import { quotedName } from './arguments.ts';
import { jsonRows } from './statement-rows.ts';
import { ToolFailure } from './tool-failure.ts';
import { databaseArgument, objectSchema, reads, type Tool, type ToolCall } from './tool.ts';

const typesMax = 20;
const limitBounds = { min: 1, max: 20 };
const limitDefault = 3;
/** Some 100 microseconds. */
const namesPerLook = 512;

export const sampleRecords: Tool = {
  name: 'sample_records',
  description: 'A few records of each type, to see what the data looks like.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      types: {
        type: 'array',
        items: { type: 'string' },
        maxItems: typesMax,
        description:
          'Types to look at, edge types too; default the first 20 vertex and document types',
      },
      limit: {
        type: 'integer',
        minimum: limitBounds.min,
        maximum: limitBounds.max,
        default: limitDefault,
        description: 'Records of each type',
      },
    },
    ['database'],
  ),
  annotations: reads,
  needs: ['allowReads'],
  run: async (call) => {
    const database = call.arguments.requiredText('database');
    const wanted = call.arguments.texts('types') ?? [];
    const limit = call.arguments.integer('limit', limitBounds) ?? limitDefault;
    const distinct = await distinctOf(wanted, new SliceTimer(call.server.runtime));
    if (distinct.length > typesMax)
      throw new ToolFailure(
        `'types' holds ${distinct.length} types, at most ${typesMax} are allowed`,
      );
    call.server.policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    const types = await schemaTypes(call, database);
    const eligible = types.filter(({ category }) => category !== 'edge').map(({ name }) => name);
    for (const name of distinct)
      if (!types.some((type) => type.name === name))
        throw new ToolFailure(`Type '${name}' does not exist in database '${database}'`);
    const chosen = distinct.length > 0 ? distinct : eligible.slice(0, typesMax);
    const { samples, count } = await samplesOf(call, { database, chosen, limit });
    const truncated = distinct.length === 0 && eligible.length > typesMax;
    return concatenated(
      '{"samples":{',
      ...samples,
      `},"sampledTypes":${chosen.length},"availableTypes":${eligible.length},"recordsReturned":${count},"truncated":${truncated}}`,
    );
  },
};

/** With pauses: there may be as many as a body holds. */
async function distinctOf(names: readonly string[], slices: Slices): Promise<readonly string[]> {
  const distinct = new Set<string>();
  for (const name of names) {
    distinct.add(name);
    if (distinct.size % namesPerLook === 0 && slices.isSpent) await slices.pause();
  }
  return [...distinct];
}

async function samplesOf(
  call: ToolCall,
  asked: { readonly database: string; readonly chosen: readonly string[]; readonly limit: number },
): Promise<{ readonly samples: readonly Pieces[]; readonly count: number }> {
  const { database, chosen, limit } = asked;
  const samples: Pieces[] = [];
  let count = 0;
  for (const name of chosen) {
    const rows = await jsonRows(call, {
      database,
      language: 'sql',
      text: `SELECT FROM ${quotedName(name, 'types')} LIMIT ${limit}`,
      mustRead: true,
      rowCountMax: limit,
    });
    samples.push(`${samples.length > 0 ? ',' : ''}${JSON.stringify(name)}:`, rows.json);
    count += rows.count;
  }
  return { samples, count };
}
