import { schemaTypes } from '../content/schema-document.ts';
import { quotedName } from './arguments.ts';
import { jsonRows } from './statement-rows.ts';
import { ToolFailure } from './tool-failure.ts';
import { databaseArgument, objectSchema, reads, type Tool, type ToolCall } from './tool.ts';

const typesMax = 20;
const limitBounds = { min: 1, max: 20 };
const limitDefault = 3;

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
    const distinct = [...new Set(wanted)];
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
    return `{"samples":{${samples.join(',')}},"sampledTypes":${chosen.length},"availableTypes":${
      eligible.length
    },"recordsReturned":${count},"truncated":${distinct.length === 0 && eligible.length > typesMax}}`;
  },
};

async function samplesOf(
  call: ToolCall,
  asked: { readonly database: string; readonly chosen: readonly string[]; readonly limit: number },
): Promise<{ readonly samples: readonly string[]; readonly count: number }> {
  const { database, chosen, limit } = asked;
  const samples: string[] = [];
  let count = 0;
  for (const name of chosen) {
    const rows = await jsonRows(call, {
      database,
      language: 'sql',
      text: `SELECT FROM ${quotedName(name, 'types')} LIMIT ${limit}`,
      mustRead: true,
      rowCountMax: limit,
    });
    samples.push(`${JSON.stringify(name)}:${rows.json}`);
    count += rows.count;
  }
  return { samples, count };
}
