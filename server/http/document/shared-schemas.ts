import { schemaOfFields } from '../request/body-fields.ts';
import type { JsonSchema } from '../request/body-fields.ts';
import { flag, integer, listOf, mapOf, object, shared, text } from './schemas.ts';
import { queryFields } from '../request/statement-request.ts';

// What the OpenAPI document keeps under `components.schemas` (http-api.md 20).

const counters = [
  'nodesCreated',
  'nodesDeleted',
  'relationshipsCreated',
  'relationshipsDeleted',
  'propertiesSet',
  'labelsAdded',
  'labelsRemoved',
  'indexesAdded',
  'indexesRemoved',
  'constraintsAdded',
  'constraintsRemoved',
];

/** A place in the text of the statement. */
const position = object({
  line: integer('From 1'),
  column: integer('Characters, from 1'),
  offset: integer('UTF-16 units, from 0'),
  length: integer('UTF-16 units; 0 at the end of the text'),
});

const warnings = listOf(
  object({ code: text('Kind of slip'), message: text('What was seen'), position }, ['position']),
  'What is probably not as it was meant; absent when there is nothing',
);

const refusalFields = {
  error: text('Short category'),
  detail: text('What happened'),
  exception: text('Name of the failure'),
  exceptionArgs: text('Machine-readable arguments, joined with |'),
  help: text('A hint'),
  position,
  requestId: text('Equals header X-Request-Id'),
  outcome: { type: 'string', enum: ['unknown'], description: 'It may be committed, or become so' },
};

/** A bulk import tells what it did before it failed. */
const partialFields = {
  verticesCreated: integer('Vertices that are stored all the same'),
  edgesCreated: integer('Edges that are stored all the same'),
  linesRead: integer('Lines of the body that were read'),
  partialCommit: flag('Something is stored'),
};
const partialNames = Object.keys(partialFields);

const mcpFlags = {
  allowReads: flag('Statements that read'),
  allowInsert: flag('Statements that insert'),
  allowUpdate: flag('Statements that update'),
  allowDelete: flag('Statements that delete'),
  allowSchemaChange: flag('Statements that change the schema'),
  allowAdmin: flag('Administration'),
};
const mcpProfile = { type: 'string', enum: ['all', 'rag', 'admin'] };

const vertexInGraph = object({
  r: text('Record id'),
  t: text('Type'),
  p: mapOf(true),
  i: integer('Incoming edges'),
  o: integer('Outgoing edges'),
});
const edgeInGraph = object({
  r: text('Record id; absent for edges without a record'),
  t: text('Type'),
  p: mapOf(true),
  i: text('Record id of the target'),
  o: text('Record id of the source'),
});
const row = mapOf(true);
const graph = object(
  { vertices: listOf(vertexInGraph), edges: listOf(edgeInGraph), records: listOf(row) },
  ['records'],
);

const planStep: JsonSchema = object(
  {
    name: text('Operator'),
    type: text('Operator'),
    targetNode: text('Where it runs'),
    cost: integer('Nanoseconds; -1 when not measured'),
    description: text('What it does'),
    rows: integer('Rows that it gave'),
    estimatedRows: { type: 'number', description: 'Rows that were expected; openCypher' },
    estimatedCost: { type: 'number', description: 'Expected cost of it and what is below' },
    subSteps: listOf(mapOf(true)),
  },
  ['rows', 'estimatedRows', 'estimatedCost'],
);

const times = ['deserialization', 'engine', 'serialization', 'overhead', 'total'];
const profile = object(
  Object.fromEntries([
    ...times.map((name) => [`${name}Ms`, { type: 'number' }]),
    ...times.map((name) => [`${name}Nanos`, { type: 'number' }]),
  ]),
);

const failure = object(
  {
    message: text('What happened'),
    status: integer('The status that it would have had as an answer'),
    exception: text('Name of the failure'),
    exceptionArgs: { type: 'string', nullable: true },
    position,
    requestId: text('Equals header X-Request-Id'),
    commitIndex: integer('With replication'),
    ...partialFields,
  },
  ['exceptionArgs', 'position', 'requestId', 'commitIndex', ...partialNames],
);

const counts = {
  verticesCreated: integer('Durable vertices'),
  edgesCreated: integer('Durable edges'),
  linesRead: integer('Lines of the body'),
  linesSkipped: integer('Blank lines'),
  bytesRead: integer('Bytes of the unpacked body'),
};
const idMapping = { ...mapOf(text()), description: 'Record id by temporary id' };
const summaryFields = {
  ...counts,
  elapsedMs: integer('Milliseconds'),
  verticesWithoutId: integer('Vertices without @id, when there are some'),
  idMapping,
  idMappingOmitted: flag('There are too many ids'),
  idMappingStreamed: flag('The ids are in the lines of progress'),
  idMappingSize: integer('Number of temporary ids'),
  commitIndex: integer('With replication'),
  deduplicated: flag('An earlier call with this X-Request-Id was executed, this one was not'),
};
const summaryOptional = Object.keys(summaryFields).filter((name) => !(name in counts));

/** By name. */
export const sharedSchemas: Readonly<Record<string, JsonSchema>> = {
  ErrorResponse: object({ ...refusalFields, ...partialFields }, [
    'detail',
    'exception',
    'exceptionArgs',
    'help',
    'position',
    'outcome',
    ...partialNames,
  ]),
  ServerErrorResponse: object({ ...refusalFields, ...partialFields }, [
    'exceptionArgs',
    'help',
    'position',
    'outcome',
    ...partialNames,
  ]),
  QueryRequest: schemaOfFields(queryFields),
  QueryResponse: object(
    {
      user: text('Who asked'),
      result: {
        description: 'Rows; an object of vertices and edges for serializer graph',
        oneOf: [listOf(row), graph],
      },
      limit: integer('Effective cap; -1 for none'),
      returned: integer('Number of rows, or of vertices and edges'),
      truncated: flag('There was at least one row more'),
      stats: shared('WriteStatistics'),
      explain: text('The plan'),
      explainPlan: object({
        type: text('QueryExecutionPlan'),
        cost: integer('Nanoseconds; -1 when not measured'),
        prettyPrint: text('The plan'),
        steps: listOf(planStep),
      }),
      warnings,
      profile,
    },
    ['stats', 'explain', 'explainPlan', 'warnings', 'profile'],
  ),
  Warnings: warnings,
  RepeatedResponse: object({
    deduplicated: flag('The request was executed before, and its answer is gone'),
    commitIndex: integer('Of the commit that it made'),
  }),
  NdJsonQueryEvent: object(
    {
      record: mapOf(true),
      stats: object(
        {
          limit: integer('Effective cap; -1 for none'),
          returned: integer('Number of rows'),
          truncated: flag('There was at least one row more'),
          warnings,
        },
        ['warnings'],
      ),
      error: failure,
    },
    ['record', 'stats', 'error'],
  ),
  BatchResponse: object(summaryFields, summaryOptional),
  NdJsonBatchEvent: object(
    {
      progress: object(
        { phase: { type: 'string', enum: ['vertices', 'edges'] }, ...counts, idMapping },
        ['idMapping'],
      ),
      summary: object(summaryFields, summaryOptional),
      error: failure,
    },
    ['progress', 'summary', 'error'],
  ),
  LoginResponse: object({ token: text('For Authorization: Bearer'), user: text('Who logged in') }),
  ProgressResponse: object({
    result: listOf(
      object({
        id: integer('Operation id'),
        database: text('Database'),
        operation: text('Label'),
        stepName: text('Current step'),
        stepIndex: integer('Its index, from 0'),
        totalSteps: integer('Number of steps'),
        done: integer('Units done in the step'),
        total: integer('Units of the step; -1 when unknown'),
        percentage: integer('-1 when unknown'),
        startedOn: integer('Epoch milliseconds'),
        elapsedMs: integer('Milliseconds'),
      }),
    ),
  }),
  WriteStatistics: object({
    ...Object.fromEntries(counters.map((name) => [name, { type: 'integer' }])),
    containsUpdates: { type: 'boolean' },
  }),
  JsonRpcMessage: object(
    {
      jsonrpc: { type: 'string', enum: ['2.0'] },
      id: {
        description: 'A string or an integer; absent in a notification, null where none was read',
      },
      method: text('Of a request or notification'),
      params: mapOf(true),
      result: mapOf(true),
      error: object({ code: integer(), message: text() }),
    },
    ['id', 'method', 'params', 'result', 'error'],
  ),
  McpConfig: object({
    enabled: flag('The tool server answers'),
    ...mcpFlags,
    profile: mcpProfile,
    principalProfiles: mapOf(mcpProfile),
    allowedUsers: listOf(text(), 'Who may use the tool server; * is everybody'),
    allowedOrigins: listOf(text(), 'Further origins of pages; * is any'),
    databases: mapOf(
      object({ ...mcpFlags, allowedUsers: listOf(text()) }, [
        ...Object.keys(mcpFlags),
        'allowedUsers',
      ]),
    ),
  }),
};
