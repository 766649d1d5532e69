import type { Effect } from '#core/effects.ts';
import { DatabaseError } from '#core/errors.ts';
import { concatenated } from '../protocol/long-json.ts';
import type { Arguments } from './arguments.ts';
import { jsonRows, parametersOf } from './statement-rows.ts';
import { ToolFailure } from './tool-failure.ts';
import { changes, databaseArgument, objectSchema, reads, type Tool } from './tool.ts';

// Statements in any language of the server (mcp.md 4.3, 4.4). What they do is read off their programs.

const limitBounds = { min: 1, max: 100_000 };
const limitDefault = 1000;
/** @param languages those of this version: what is not there is not offered */
function statementSchema(name: 'query' | 'command', languages: readonly string[]) {
  return objectSchema(
    {
      database: databaseArgument,
      language: { type: 'string', enum: languages },
      [name]: { type: 'string', description: 'The statement' },
      params: { type: 'object', description: 'Named parameters of the statement' },
      limit: {
        type: 'integer',
        minimum: limitBounds.min,
        maximum: limitBounds.max,
        default: limitDefault,
        description: 'Largest number of records of the answer',
      },
    },
    ['database', 'language', name],
  );
}

function statementOf(given: Arguments, name: 'query' | 'command') {
  return {
    database: given.requiredText('database'),
    language: given.requiredText('language').trim().toLowerCase(),
    text: given.requiredText(name),
    parameters: parametersOf(given.object('params')),
    rowCountMax: given.integer('limit', limitBounds) ?? limitDefault,
  };
}

const isWrite = 'Query contains write operations. Use execute_command tool instead of query tool';

export const query: Tool = {
  name: 'query',
  description: 'Runs a statement that only reads and returns its records.',
  inputSchema: ({ databases }) => statementSchema('query', databases.languages()),
  annotations: reads,
  needs: ['allowReads'],
  run: async (call) => {
    const statement = statementOf(call.arguments, 'query');
    const { database } = statement;
    const { policy } = call.server;
    policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    // A read may be of files of the server, which is administration.
    const judge = (effects: ReadonlySet<Effect>) => policy.judge(database, effects);
    try {
      const { json, count, told } = await jsonRows(call, { ...statement, mustRead: true, judge });
      return concatenated('{"records":', json, `,"count":${count}${told}}`);
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'NotIdempotent')
        throw new ToolFailure(isWrite);
      throw error;
    }
  },
};

export const executeCommand: Tool = {
  name: 'execute_command',
  description:
    'Runs a statement that may write, in one transaction, and returns its records. Needs the permissions for what it does.',
  inputSchema: ({ databases }) => statementSchema('command', databases.languages()),
  annotations: changes,
  needs: [],
  run: async (call) => {
    const statement = statementOf(call.arguments, 'command');
    const { database } = statement;
    const { policy } = call.server;
    policy.requireDatabase(call.caller.principal, database, []);
    const { json, count, told } = await jsonRows(call, {
      ...statement,
      mustRead: false,
      judge: (effects) => policy.judge(database, effects),
    });
    return concatenated('{"records":', json, `,"count":${count}${told}}`);
  },
};
