import { beforeRead } from '../cluster/wanted-state.ts';
import { groupDocumentToJson, parseGroup } from '#security/group-document.ts';
import { DatabaseError } from '#core/errors.ts';
import {
  objectField,
  optionalInteger,
  readFields,
  requiredText,
  schemaOfFields,
} from '../request/body-fields.ts';
import { badRequest, HttpRefusal, refusalOf } from '../answer/errors.ts';
import { parseAnyJsonObject } from '../request/json-body.ts';
import { repeatable } from '../replay/once-only.ts';
import {
  integer,
  listOf,
  mapOf,
  object,
  refusal,
  resultAnswer,
  text,
} from '../document/schemas.ts';
import type { Route } from './route.ts';

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

export const groupsGet: Route = {
  method: 'GET',
  path: '/server/groups',
  access: 'root',
  operation: {
    id: 'listGroups',
    waitsForState: true,
    summary: 'All access levels',
    answers: { 200: resultAnswer('The levels', documentSchema) },
  },
  handle: async (exchange, { groups }) => {
    await beforeRead(exchange);
    exchange.jsonValue(200, { result: groupDocumentToJson(groups.document) });
  },
};

export const groupsPost: Route = {
  method: 'POST',
  path: '/server/groups',
  access: 'root',
  place: 'leader',
  operation: {
    id: 'saveGroup',
    summary: 'Creates or replaces an access level',
    body: schemaOfFields(groupFields),
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
    answers: { 200: resultAnswer('Saved', text()) },
  },
  handle: repeatable(async (exchange, door, bytes) => {
    const body = await parseAnyJsonObject(exchange, bytes, {
      invalidStatus: 400,
      mayBeEmpty: false,
    });
    const { database, name } = readFields(groupFields, body);
    try {
      await door.groups.put(database, name, parseGroup(body, name));
    } catch (error) {
      throw inWords(error);
    }
    const what = `saved group '${name}' for database '${database}'`;
    const message = `User '${exchange.principal.name}' ${what}`;
    door.events.report('INFO', 'Security', message, null, exchange.requestId);
    exchange.jsonValue(200, { result: `Group '${name}' saved for database '${database}'` });
  }),
};

export const groupsDelete: Route = {
  method: 'DELETE',
  path: '/server/groups',
  access: 'root',
  place: 'leader',
  operation: {
    id: 'deleteGroup',
    summary: 'Deletes an access level',
    query: { database: { type: 'string' }, name: { type: 'string' } },
    example: { query: { database: '*', name: 'auditor' } },
    answers: { 200: resultAnswer('Deleted', text()), 404: refusal('No such level') },
  },
  handle: repeatable(async (exchange, door) => {
    const given = new URLSearchParams(exchange.queryString);
    const database = given.get('database') ?? '';
    const name = given.get('name') ?? '';
    if (database === '' || name === '')
      throw badRequest("Parameters 'database' and 'name' are needed");
    try {
      await door.groups.delete(database, name);
    } catch (error) {
      throw inWords(error);
    }
    const what = `deleted group '${name}' from database '${database}'`;
    const message = `User '${exchange.principal.name}' ${what}`;
    door.events.report('INFO', 'Security', message, null, exchange.requestId);
    exchange.jsonValue(200, { result: `Group '${name}' deleted from database '${database}'` });
  }),
};

function inWords(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  return new HttpRefusal({ ...refusalOf(error), error: error.message });
}
