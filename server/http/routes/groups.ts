import { beforeRead } from '../cluster/wanted-state.ts';
import { groupDocumentToJson, parseGroup } from '#security/group-document.ts';
import {
  objectField,
  optionalInteger,
  readFields,
  requiredText,
  schemaOfFields,
} from '../request/body-fields.ts';
import { badRequest } from '../answer/errors.ts';
import { type GivenBody, InputSchema, queryWith, textParameter } from '../request/input-schema.ts';
import {
  integer,
  listOf,
  mapOf,
  object,
  refusal,
  resultAnswer,
  text,
} from '../document/schemas.ts';
import type { Resource } from './resource.ts';
import { inWords, reportChange } from './security-changes.ts';

// Access levels (http-api.md 16.2). Root only.

const groupFields = {
  database: requiredText({ description: 'Database, * for all' }),
  name: requiredText({ description: 'Name of the level' }),
  resultSetLimit: optionalInteger({ description: 'Rows of any statement; -1 for any' }),
  readTimeout: optionalInteger({ description: 'Longest read (ms); -1 for any' }),
  access: objectField(
    {
      description: 'Permissions on the database as a whole',
      schema: { type: 'array', items: { type: 'string' } },
    },
    (value) => value,
  ),
  types: objectField(
    { description: 'Record permissions by type; * for all others' },
    (value) => value,
  ),
};

/** With the level as it was given, all of whose fields `parseGroup` judges. */
const levelBody = new InputSchema(schemaOfFields(groupFields), ({ fields }: GivenBody) => ({
  ...readFields(groupFields, fields),
  level: fields,
}));

const rightsSchema = listOf(text());
const levelSchema = object({
  resultSetLimit: integer('Rows of any statement; -1 for any'),
  readTimeout: integer('Longest read (ms); -1 for any'),
  access: rightsSchema,
  types: mapOf(object({ access: rightsSchema })),
});
const documentSchema = object({
  version: integer(),
  databases: mapOf(object({ groups: mapOf(levelSchema) })),
});

export const groups: Resource = (scope, { door }, done) => {
  scope.get(
    '/server/groups',
    {
      config: { access: 'root' },
      schema: {
        operationId: 'listGroups',
        waitsForState: true,
        summary: 'All access levels',
        response: { 200: resultAnswer('The levels', documentSchema) },
      },
    },
    async ({ exchange }) => {
      await beforeRead(exchange);
      return { result: groupDocumentToJson(door.groups.document) };
    },
  );

  const config = { access: 'root', place: 'leader', isRepeatable: true } as const;

  scope.post(
    '/server/groups',
    {
      config,
      schema: {
        operationId: 'saveGroup',
        summary: 'Creates or replaces an access level',
        body: levelBody,
        example: {
          body: {
            'application/json': {
              database: '*',
              name: 'auditor',
              resultSetLimit: 1000,
              readTimeout: -1,
              access: [],
              types: { '*': { access: ['readRecord'] } },
            },
          },
        },
        response: { 200: resultAnswer('Saved', text()) },
      },
    },
    async ({ exchange, body: { database, name, level } }) => {
      await inWords(() => door.groups.put(database, name, parseGroup(level, name)));
      reportChange(door, exchange, `saved group '${name}' for database '${database}'`);
      return { result: `Group '${name}' saved for database '${database}'` };
    },
  );

  scope.delete(
    '/server/groups',
    {
      config,
      schema: {
        operationId: 'deleteGroup',
        summary: 'Deletes an access level',
        querystring: queryWith({ database: textParameter(), name: textParameter() }),
        example: { query: { database: '*', name: 'auditor' } },
        response: { 200: resultAnswer('Deleted', text()), 404: refusal('No such level') },
      },
    },
    async ({ exchange, query: { database, name } }) => {
      if (database === '' || name === '')
        throw badRequest("Parameters 'database' and 'name' are needed");
      await inWords(() => door.groups.delete(database, name));
      reportChange(door, exchange, `deleted group '${name}' from database '${database}'`);
      return { result: `Group '${name}' deleted from database '${database}'` };
    },
  );
  done();
};
