import { parseGrants } from '#security/user-file.ts';
import type { Value } from '#core/value/value.ts';
import type { Door } from '../door.ts';
import { objectField, optionalText, requiredText } from '../request/body-fields.ts';
import { badRequest, HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import { bodyWith, queryWith, textParameter } from '../request/input-schema.ts';
import { listOf, mapOf, object, refusal, resultAnswer, text } from '../document/schemas.ts';
import type { Resource } from './resource.ts';
import { inWords, reportChange } from './security-changes.ts';

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
const nameQuery = queryWith({ name: textParameter() });
const exampleDatabases = { school: ['reader'] };

const createSchema = {
  operationId: 'createUser',
  summary: 'Creates a user',
  body: bodyWith(createFields),
  example: {
    body: {
      'application/json': {
        name: 'kim',
        password: 'a-good-password',
        databases: exampleDatabases,
      },
    },
  },
  response: { 201: resultAnswer('Created', text()), 409: refusal('The user exists') },
};

const updateSchema = {
  summary: 'Gives a user another password or other access levels',
  querystring: nameQuery,
  body: bodyWith(updateFields),
  example: {
    query: { name: 'kim' },
    body: { 'application/json': { password: 'a-better-password' } },
  },
  response: { 200: resultAnswer('Updated', text()), 404: refusal('No such user') },
};

const deleteSchema = {
  summary: 'Deletes a user',
  querystring: nameQuery,
  example: { query: { name: 'kim' } },
  response: { 200: resultAnswer('Deleted', text()), 404: refusal('No such user') },
};

export const users: Resource = (scope, { door }, done) => {
  scope.get(
    '/server/users',
    {
      config: { access: 'root' },
      schema: {
        operationId: 'listUsers',
        waitsForState: true,
        summary: 'All users with their access levels',
        response: { 200: resultAnswer('The users', usersSchema) },
      },
    },
    async ({ exchange }) => {
      await beforeRead(exchange);
      const result = door.users.list().map(({ name, databases }) => ({
        name,
        databases: Object.fromEntries(databases),
      }));
      return { result };
    },
  );

  const config = { access: 'root', place: 'leader', isRepeatable: true } as const;

  scope.post(
    '/server/users',
    {
      config,
      schema: createSchema,
    },
    async ({ exchange, body }, reply) => {
      const { name, password } = body;
      const databases = body.databases ?? new Map();
      // Whether the name is free is known while the user is made: others may be making one, too.
      const create = () => door.users.create(name, { password, databases });
      await inWords(create).catch((error) => {
        if (door.users.get(name) === undefined) throw error;
        throw new HttpRefusal({ status: 409, error: `User '${name}' already exists` });
      });
      reportChange(door, exchange, `created user '${name}'`);
      exchange.warn(...door.groups.unknownIn(databases));
      reply.code(201);
      return { result: `User '${name}' created` };
    },
  );

  // The name comes from the path, too; only one form is documented.
  for (const path of ['/server/users', '/server/users/:name']) {
    const isDocumented = path === '/server/users';

    scope.put(
      path,
      {
        config,
        preValidation: async ({ exchange }) => void userName(exchange),
        schema: { ...(isDocumented && { operationId: 'updateUser' }), ...updateSchema },
      },
      async ({ exchange, body: { password, databases } }) => {
        const name = userName(exchange);
        if (password === undefined && databases === undefined)
          throw badRequest("Nothing to update: give 'password' or 'databases'");
        requireUser(door, name);
        const change = {
          ...(password === undefined ? undefined : { password }),
          ...(databases === undefined ? undefined : { databases }),
        };
        await inWords(() => door.users.update(name, change));
        if (databases !== undefined) exchange.warn(...door.groups.unknownIn(databases));
        const changed = Object.keys(change).join(' and ');
        reportChange(door, exchange, `changed ${changed} of user '${name}'`);
        return { result: `User '${name}' updated` };
      },
    );

    scope.delete(
      path,
      {
        config,
        schema: { ...(isDocumented && { operationId: 'deleteUser' }), ...deleteSchema },
      },
      async ({ exchange }) => {
        const name = userName(exchange);
        requireUser(door, name);
        await inWords(() => door.users.drop(name));
        reportChange(door, exchange, `deleted user '${name}'`);
        return { result: `User '${name}' deleted` };
      },
    );
  }
  done();
};

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
