import { parseGrants } from '#security/user-file.ts';
import type { Value } from '#core/value/value.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Door } from '../door.ts';
import {
  objectField,
  optionalText,
  readFields,
  requiredText,
  schemaOfFields,
} from '../request/body-fields.ts';
import { badRequest, HttpRefusal, refusalOf } from '../answer/errors.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import type { Exchange } from '../answer/exchange.ts';
import { parseAnyJsonObject } from '../request/json-body.ts';
import { repeatable } from '../replay/once-only.ts';
import { listOf, mapOf, object, refusal, resultAnswer, text } from '../document/schemas.ts';
import type { Route } from './route.ts';

// Users (http-api.md 15). Root only.

const databasesField = objectField(
  {
    description: 'Access level, or list of levels, by database; * stands for all others',
    schema: {
      additionalProperties: {
        oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      },
    },
  },
  (value: Value, name) => {
    const grants = parseGrants(value);
    if (grants) return grants;
    throw badRequest(`Field '${name}' must map database names to a level or a list of levels`);
  },
);

const createFields = {
  name: requiredText({ description: 'Name of the user' }),
  password: requiredText({ description: '8 to 256 characters' }),
  databases: databasesField,
};
const updateFields = {
  password: optionalText({ description: '8 to 256 characters' }),
  databases: databasesField,
};

const usersSchema = listOf(object({ name: text(), databases: mapOf(listOf(text())) }));
const exampleDatabases = { school: ['reader'] };

export const usersGet: Route = {
  method: 'GET',
  path: '/server/users',
  access: 'root',
  operation: {
    id: 'listUsers',
    waitsForState: true,
    summary: 'All users with their access levels',
    answers: { 200: resultAnswer('The users', usersSchema) },
  },
  handle: async (exchange, { users }) => {
    await beforeRead(exchange);
    const result = users.list().map(({ name, databases }) => ({
      name,
      databases: Object.fromEntries(databases),
    }));
    exchange.jsonValue(200, { result });
  },
};

export const usersPost: Route = {
  method: 'POST',
  path: '/server/users',
  access: 'root',
  place: 'leader',
  operation: {
    id: 'createUser',
    summary: 'Creates a user',
    body: schemaOfFields(createFields),
    example: {
      body: {
        'application/json': {
          name: 'kim',
          password: 'a-good-password',
          databases: exampleDatabases,
        },
      },
    },
    answers: { 201: resultAnswer('Created', text()), 409: refusal('The user exists') },
  },
  handle: repeatable(async (exchange, door, bytes) => {
    const given = readFields(createFields, await jsonBody(exchange, bytes), exchange);
    const { name, password } = given;
    const databases = given.databases ?? new Map();
    // Whether the name is free is known while the user is made: others may be making one, too.
    const create = () => door.users.create(name, { password, databases });
    await refuseInWords(create).catch((error) => {
      if (door.users.get(name) === undefined) throw error;
      throw new HttpRefusal({ status: 409, error: `User '${name}' already exists` });
    });
    report(door, exchange, `created user '${name}'`);
    exchange.warn(...door.groups.unknownIn(databases));
    exchange.jsonValue(201, { result: `User '${name}' created` });
  }),
};

export const usersPut: Route = {
  method: 'PUT',
  path: '/server/users',
  access: 'root',
  place: 'leader',
  operation: {
    id: 'updateUser',
    summary: 'Gives a user another password or other access levels',
    query: { name: { type: 'string' } },
    body: schemaOfFields(updateFields),
    example: {
      query: { name: 'kim' },
      body: { 'application/json': { password: 'a-better-password' } },
    },
    answers: { 200: resultAnswer('Updated', text()), 404: refusal('No such user') },
  },
  handle: repeatable(async (exchange, door, bytes) => {
    const name = userName(exchange);
    const { password, databases } = readFields(
      updateFields,
      await jsonBody(exchange, bytes),
      exchange,
    );
    if (password === undefined && databases === undefined)
      throw badRequest("Nothing to update: give 'password' or 'databases'");
    requireUser(door, name);
    const change = {
      ...(password === undefined ? undefined : { password }),
      ...(databases === undefined ? undefined : { databases }),
    };
    await refuseInWords(() => door.users.update(name, change));
    if (databases !== undefined) exchange.warn(...door.groups.unknownIn(databases));
    const changed = Object.keys(change).join(' and ');
    report(door, exchange, `changed ${changed} of user '${name}'`);
    exchange.jsonValue(200, { result: `User '${name}' updated` });
  }),
};

export const usersDelete: Route = {
  method: 'DELETE',
  path: '/server/users',
  access: 'root',
  place: 'leader',
  operation: {
    id: 'deleteUser',
    summary: 'Deletes a user',
    query: { name: { type: 'string' } },
    example: { query: { name: 'kim' } },
    answers: { 200: resultAnswer('Deleted', text()), 404: refusal('No such user') },
  },
  handle: repeatable(async (exchange, door) => {
    const name = userName(exchange);
    requireUser(door, name);
    await refuseInWords(() => door.users.drop(name));
    report(door, exchange, `deleted user '${name}'`);
    exchange.jsonValue(200, { result: `User '${name}' deleted` });
  }),
};

export const usersByPath: readonly Route[] = [usersPut, usersDelete].map((route) => ({
  method: route.method,
  path: '/server/users/:name',
  access: route.access,
  place: 'leader' as const,
  handle: route.handle,
}));

function jsonBody(exchange: Exchange, bytes: Uint8Array) {
  return parseAnyJsonObject(exchange, bytes, { invalidStatus: 400, mayBeEmpty: false });
}

/** From the path, else from the query string. */
function userName(exchange: Exchange): string {
  const name =
    exchange.parameters['name'] ?? new URLSearchParams(exchange.queryString).get('name') ?? '';
  if (name === '') throw badRequest("Parameter 'name' is missing");
  return name;
}

function requireUser(door: Door, name: string): void {
  if (!door.users.get(name))
    throw new HttpRefusal({ status: 404, error: `User '${name}' not found on server` });
}

/** Refusals of names and passwords say what is wrong in `error`. */
async function refuseInWords(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new HttpRefusal({ ...refusalOf(error), error: error.message });
  }
}

function report(door: Door, exchange: Exchange, what: string): void {
  const message = `User '${exchange.principal.name}' ${what}`;
  door.events.report('INFO', 'Security', message, null, exchange.requestId);
}
