import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { completedTextOf, placeOfCommand, runControlCommand } from '#control/commands.ts';
import { serverName } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Door } from '../door.ts';
import { HttpRefusal, refusalOf } from '../answer/errors.ts';
import { EventStream } from '../answer/event-stream.ts';
import type { Exchange } from '../answer/exchange.ts';
import { objectBody, queryWith, textParameter } from '../request/input-schema.ts';
import { type Elsewhere, leadsHere, sendOn } from '../cluster/sent-on.ts';
import { onceOnly } from '../replay/once-only.ts';
import { flag, listOf, mapOf, object, refusal, text } from '../document/schemas.ts';
import type { Resource } from './resource.ts';

// The server itself (contract, GET and POST /server; http-api.md 11, 12).

const serverSchema = object(
  {
    user: text('Who asked'),
    version: text('Of the product'),
    serverName: text(),
    languages: listOf(text()),
    metrics: mapOf(true),
    ha: mapOf(true),
    settings: listOf(
      object({
        key: text(),
        value: text('***** for secrets'),
        description: text(),
        overridden: flag('Set explicitly, or not the default'),
        default: text(),
      }),
    ),
  },
  ['metrics', 'ha', 'settings'],
);

const modes = ['basic', 'default', 'cluster'] as const;

/** The fields beside `command` are those of the command. */
const commandBody = objectBody({
  type: 'object',
  properties: {
    command: { type: 'string', description: 'For example: create database school' },
    config: { type: 'object', description: 'Of set backup config: the new backup.json' },
    overwrite: { type: 'boolean', description: 'Of restore backup: replaces the target' },
    encryptionKey: { type: 'string', description: 'Of restore: key of the archive' },
    settings: { type: 'object', description: 'Of import database: as in IMPORT DATABASE' },
  },
  required: ['command'],
});

export const server: Resource = (scope, { door }, done) => {
  scope.get(
    '/server',
    {
      config: { access: 'user' },
      schema: {
        operationId: 'getServerInfo',
        summary: 'Version, metrics and settings of the server',
        querystring: queryWith({ mode: textParameter({ enum: modes }, 'default') }),
        response: { 200: { description: 'The information', schema: serverSchema } },
      },
    },
    async ({ exchange, query: { mode } }) => {
      const basic = {
        user: exchange.principal.name,
        version: door.version,
        serverName: door.settings.get(serverName),
        languages: door.databases.languages(),
      };
      // An unknown mode is basic; in mode cluster `ha` is absent while replication is off (http-api.md 11.3).
      const { cluster } = door;
      if (mode === 'cluster' && cluster !== undefined) {
        const mayAccess = (name: string) => door.authorizer.canAccess(exchange.principal, name);
        return { ...basic, ha: cluster.report.network(mayAccess) };
      }
      if (mode !== 'default') return basic;
      const settings = exchange.principal.isRoot
        ? { settings: door.settings.report('server') }
        : undefined;
      return { ...basic, metrics: door.metrics.read(), ...settings };
    },
  );

  scope.post(
    '/server',
    {
      config: { access: 'user', invalidJsonStatus: 500 },
      schema: {
        operationId: 'executeServerCommand',
        summary: 'Executes a server command; all but list databases are for root',
        body: commandBody,
        example: { body: { 'application/json': { command: 'list databases' } } },
        response: {
          200: {
            description: 'ok, or what the command tells',
            schema: { ...object({ result: {} }), additionalProperties: true },
            others: {
              'text/event-stream': text('Progress of restore and import, by server-sent events'),
            },
          },
          404: refusal('What the command names does not exist'),
          409: refusal('It is being done already'),
        },
      },
    },
    async ({ exchange, body, bytes }, reply) => {
      const command = body.get('command');
      const asked = {
        text: typeof command === 'string' ? command : '',
        body,
        wantsEvents: exchange.header('accept')?.includes('text/event-stream') === true,
      };
      const { cluster } = door;
      const place = cluster && placeOf(asked.text, cluster);
      if (place === undefined || !(await sendOn(exchange, place, bytes))) {
        if (exchange.hasClientRequestId && !asked.wantsEvents)
          await onceOnly(exchange, bytes, () => run(exchange, door, asked));
        else await run(exchange, door, asked);
      }
      return reply.hijack();
    },
  );
  done();
};

/** Where a command belongs, when that is not here: `shutdown <name>` is for the server of that name. */
function placeOf(text: string, cluster: ClusterDoor): Elsewhere | undefined {
  const name = /^\s*shutdown\s+`?([^`]+?)`?\s*$/i.exec(text)?.[1];
  const named =
    name === undefined ? undefined : cluster.addresses.known().find((peer) => peer.name === name);
  if (named !== undefined && named.id !== cluster.view.consensus.self)
    return { kind: 'server', id: named.id };
  return placeOfCommand(text) === 'leader' && !leadsHere(cluster)
    ? { kind: 'leader', isSeenHere: true }
    : undefined;
}

interface Asked {
  readonly text: string;
  readonly body: ValueMap;
  readonly wantsEvents: boolean;
}

async function run(exchange: Exchange, door: Door, asked: Asked): Promise<void> {
  const { text, body, wantsEvents } = asked;
  const events = wantsEvents ? new EventStream(exchange) : undefined;
  const { signal } = exchange.connection;
  const report = events && ((event: Readonly<Record<string, unknown>>) => events.send(event));
  try {
    const answer = await runControlCommand(text, exchange.principal, door, {
      body,
      signal,
      report,
      requestId: exchange.requestId,
    });
    const message = events && answer ? completedTextOf(text) : undefined;
    if (!answer) exchange.refuse({ status: 400, error: 'Invalid command' });
    else if (events === undefined || message === undefined) exchange.jsonValue(200, answer);
    else events.complete({ message, ...answer });
  } catch (error) {
    if (events?.fail(error) !== true) throw asCommandRefusal(error);
  }
}

/** Wrong arguments of a known command are 400 with a text that names them, whatever they would be elsewhere. */
function asCommandRefusal(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const isWrongArgument =
    error.code === 'DatabaseNotFound' ||
    error.code === 'RecordNotFound' ||
    refusalOf(error).status === 400;
  if (!isWrongArgument) return error;
  return new HttpRefusal({ ...refusalOf(error), status: 400, error: error.message });
}
