import type { StoredApiToken } from '#security/api-token-file.ts';
import { apiTokenPrefix, apiTokenToJson, parsePermissions } from '#security/api-token-file.ts';
import type { Value } from '#core/value/value.ts';
import { objectField, optionalText, requiredText } from '../request/body-fields.ts';
import type { Field } from '../request/body-fields.ts';
import { badRequest, HttpRefusal } from '../answer/errors.ts';
import { bodyWith, queryWith, textParameter } from '../request/input-schema.ts';
import {
  flag,
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

// API tokens (http-api.md 17). Root only.

const moment: Field<number | undefined> = {
  isRequired: false,
  schema: {
    type: 'integer',
    format: 'int64',
    minimum: 0,
    description: 'Epoch milliseconds; 0 means never',
  },
  read: (value, name) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw badRequest(`Field '${name}' must be a moment in epoch milliseconds, or 0 for never`);
  },
};

const createFields = {
  name: requiredText({ description: 'Name of the token' }),
  database: optionalText({
    description: 'The one database that it opens; * (the default) for all',
  }),
  expiresAt: moment,
  permissions: objectField(
    {
      description: 'What it may do: record permissions by type, permissions on the database',
      schema: {
        properties: {
          types: { type: 'object', additionalProperties: true },
          database: { type: 'array', items: { type: 'string' } },
        },
      },
    },
    (value: Value) => value,
  ),
};

const tokenSchema = object(
  {
    name: text(),
    database: text(),
    expiresAt: integer('Epoch milliseconds; 0 means never'),
    createdAt: integer('Epoch milliseconds'),
    permissions: object({
      types: mapOf(object({ access: listOf(text()) })),
      database: listOf(text()),
    }),
    tokenHash: text('SHA-256 of the token in hexadecimal digits'),
    tokenSuffix: text('The last characters of the token'),
    token: text('The token; in the answer to its creation only'),
    expired: flag('Present and true when it is no longer valid'),
  },
  ['token', 'expired'],
);

const createSchema = {
  operationId: 'createApiToken',
  summary: 'Makes an API token; its text is in this answer only',
  body: bodyWith(createFields),
  example: {
    body: {
      'application/json': {
        name: 'ci',
        database: 'school',
        expiresAt: 0,
        permissions: { types: { '*': { access: ['readRecord'] } }, database: [] },
      },
    },
  },
  response: {
    201: resultAnswer('The token', tokenSchema),
    409: refusal('A token has this name already'),
  },
};

const deleteSchema = {
  operationId: 'deleteApiToken',
  summary: 'Deletes an API token; requests with it are refused from then on',
  querystring: queryWith({
    token: textParameter({ description: 'SHA-256 of the token in hexadecimal digits' }),
    name: textParameter({ description: 'Name of the token, instead of its hash' }),
  }),
  example: { query: { name: 'ci' } },
  response: {
    200: resultAnswer('Deleted', text()),
    400: refusal('Neither hash nor name, or the token itself'),
    404: refusal('No such token'),
  },
};

export const apiTokens: Resource = (scope, { door }, done) => {
  scope.get(
    '/server/api-tokens',
    {
      config: { access: 'root' },
      schema: {
        operationId: 'listApiTokens',
        summary: 'All API tokens of this server, without the tokens themselves',
        response: {
          200: {
            description: 'The tokens',
            schema: object({ result: listOf(tokenSchema), count: integer() }),
          },
        },
      },
    },
    async () => {
      const result = door.apiTokens.list().map((token: StoredApiToken) => ({
        ...apiTokenToJson(token),
        ...(door.apiTokens.isExpired(token) ? { expired: true } : undefined),
      }));
      return { result, count: result.length };
    },
  );

  scope.post(
    '/server/api-tokens',
    {
      config: { access: 'root' },
      schema: createSchema,
    },
    async ({ exchange, body }, reply) => {
      const { name, database = '*', expiresAt = 0, permissions } = body;
      if (database.trim() === '') throw badRequest("Field 'database' is blank");
      // Whether the name is free is known while the token is made: others may be making one, too.
      const { token, stored } = await inWords(async () => {
        const granted = parsePermissions(permissions, name);
        return await door.apiTokens.create({ name, database, expiresAt, permissions: granted });
      }).catch((error) => {
        if (!door.apiTokens.has(name)) throw error;
        throw new HttpRefusal({ status: 409, error: `API token '${name}' already exists` });
      });
      reportChange(door, exchange, `created API token '${name}' for database '${database}'`);
      reply.code(201);
      return { result: { ...apiTokenToJson(stored), token } };
    },
  );

  scope.delete(
    '/server/api-tokens',
    {
      config: { access: 'root' },
      schema: deleteSchema,
    },
    async ({ exchange, query: { token, name } }) => {
      if (token === '' && name === '')
        throw badRequest("Parameter 'token' (the SHA-256 of the token) or 'name' is needed");
      // Addresses end up in logs of proxies and browsers.
      if (token.startsWith(apiTokenPrefix))
        throw badRequest("Parameter 'token' takes the SHA-256 of the token, not the token itself");
      const which = token === '' ? { name } : { tokenHash: token };
      const deleted = await inWords(() => door.apiTokens.delete(which));
      reportChange(door, exchange, `deleted API token '${deleted}'`);
      return { result: 'API token deleted' };
    },
  );
  done();
};
