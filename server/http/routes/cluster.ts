import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ManagementAnswer } from '#cluster/management/answer.ts';
import { badRequest, HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
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
import { parseAnyJsonObject } from '../request/json-body.ts';
import { databaseName } from './database-parameter.ts';
import type { Answer, Operation, Route } from './route.ts';
import { rootOnly } from '../request/authenticate.ts';

/*
 * The endpoints by which people see and manage a cluster (contract 3; ha.md 11). On a server without replication who may use them
 * learns that it is not enabled, everybody else what they always learn.
 */

/** A refusal with fields of its own, such as who leads. */
function telling(description: string): Answer {
  return { description, schema: { ...object({ error: text() }), additionalProperties: true } };
}

const refusals = {
  400: refusal('Replication is not enabled on this server, or a wrong request'),
  404: refusal('No such peer or database'),
  409: telling('Not the leader, which is named, or not possible now'),
  503: telling('No leader is known, not started yet, or users did not reach a new member'),
  504: telling('Not finished in time'),
};

type Run = (
  cluster: ClusterDoor,
  exchange: Exchange,
  body: ReadonlyMap<string, unknown>,
) => Promise<ManagementAnswer>;

interface Described extends Omit<Operation, 'answers'> {
  readonly answer: Answer;
}

/** The cluster of this server. @throws HttpRefusal 400 without replication, 503 before it has started */
export function clusterOf({ door }: Exchange): ClusterDoor {
  const { cluster } = door;
  if (cluster === undefined) throw badRequest('Raft HA is not enabled');
  if (cluster.view.consensus.status().raftState === 'STARTING')
    throw new HttpRefusal({
      status: 503,
      error: 'Raft HA not started yet',
      headers: ['Retry-After', '1'],
    });
  return cluster;
}

function management(method: 'POST' | 'DELETE', path: string, given: Described, run: Run): Route {
  const { answer, ...operation } = given;
  return {
    method,
    path,
    access: 'root',
    operation: { ...operation, answers: { 200: answer, ...refusals } },
    handle: async (exchange, { events }) => {
      const cluster = clusterOf(exchange);
      const body = await bodyOf(exchange, operation.bodyIsOptional !== false);
      const asked = `${method} ${exchange.request.url?.split('?', 1)[0]?.slice(0, 200)}`;
      const answered = await run(cluster, exchange, body);
      const outcome = answered.status === 200 ? '' : ` (${answered.status})`;
      const message = `User '${exchange.principal.name}' from ${exchange.source}: ${asked}${outcome}`;
      events.report('INFO', 'HA', message, null, exchange.requestId);
      send(exchange, answered);
    },
  };
}

async function bodyOf(
  exchange: Exchange,
  mayBeEmpty: boolean,
): Promise<ReadonlyMap<string, unknown>> {
  const bytes = await exchange.body();
  if (bytes.length === 0 && mayBeEmpty) return new Map();
  if (bytes.length === 0)
    throw badRequest('A JSON object is expected; {} asks for nothing special');
  return parseAnyJsonObject(exchange, bytes, { invalidStatus: 400, mayBeEmpty: false });
}

function send(exchange: Exchange, { status, body, retryAfter }: ManagementAnswer): void {
  if (status === 200) {
    exchange.jsonValue(200, body);
    return;
  }
  const { error, exception, ...more } = body;
  exchange.refuse({
    status,
    error: String(error),
    ...(exception === undefined ? undefined : { exception: String(exception) }),
    more,
    ...(retryAfter && { headers: ['Retry-After', String(retryAfter)] }),
  });
}

/** A switch of the query string. @throws HttpRefusal 400 */
function switchOf(exchange: Exchange, name: string): boolean {
  const value = new URLSearchParams(exchange.queryString).get(name);
  if (value === null || value === 'false') return false;
  if (value === '' || value === 'true') return true;
  throw badRequest(`Parameter '${name}' is '${value.slice(0, 60)}'; it must be true or false`);
}

/** @throws HttpRefusal for anything but a whole number from 0 */
function expectedIndexOf(exchange: Exchange): number | undefined {
  const name = 'expectedConfigurationIndex';
  const value = new URLSearchParams(exchange.queryString).get(name);
  if (value === null) return undefined;
  const index = Number(value);
  if (/^\d+$/.test(value) && Number.isSafeInteger(index)) return index;
  throw badRequest(`Parameter '${name}' is '${value.slice(0, 60)}'; it must be a whole number`);
}

const done = (description: string): Answer => ({
  description,
  schema: { ...object({ result: text() }), additionalProperties: true },
});

const optional = { bodyIsOptional: true } as const;
const forced = { query: { force: { type: 'boolean', description: 'Also against the guard' } } };

const clusterGet: Route = {
  method: 'GET',
  path: '/cluster',
  access: 'root',
  operation: {
    id: 'getClusterStatus',
    summary: 'Leader, members and their state',
    query: {
      presence: { type: 'boolean', description: 'Asks every member which databases it has' },
    },
    answers: {
      200: {
        description: 'As this server knows it',
        schema: {
          ...object(
            {
              implementation: text(),
              localPeerId: text(),
              isLeader: flag('This server leads'),
              leaderId: { type: 'string', nullable: true },
              currentTerm: integer(),
              commitIndex: integer(),
              appliedIndex: integer(),
              peers: listOf(mapOf(true)),
              databases: listOf(mapOf(true)),
              alerts: listOf(mapOf(true)),
            },
            [],
          ),
          additionalProperties: true,
        },
      },
      ...refusals,
    },
  },
  handle: async (exchange) => {
    const cluster = clusterOf(exchange);
    exchange.jsonValue(200, await cluster.report.read(switchOf(exchange, 'presence')));
  },
};

const expectedIndex = integer('Refused when the configuration is another one');

const peerBody = object(
  {
    peerId: text('<host>_<raftPort>'),
    address: text('<host>:<raftPort>:<httpPort>, or an entry of service.ha.serverList'),
    name: text('For people'),
    priority: integer('The highest one is preferred as leader'),
    learner: flag('It gets the log and does not vote'),
    expectedConfigurationIndex: expectedIndex,
    timeoutMs: integer('Wait until it has caught up'),
  },
  ['name', 'priority', 'learner', 'expectedConfigurationIndex', 'timeoutMs'],
);

const verifyPost: Route = {
  method: 'POST',
  path: '/cluster/verify/:database',
  access: 'peer',
  operation: {
    id: 'verifyClusterDatabase',
    summary: 'Compares a database between the members',
    answers: { 200: resultAnswer('Peers and what they hold', mapOf(true)), ...refusals },
  },
  handle: async (exchange) => {
    const { isPeer, principal } = exchange;
    const isAskedByServer = isPeer && !exchange.isForwarded;
    if (!isAskedByServer && !principal.isRoot) throw rootOnly(principal.name);
    const cluster = clusterOf(exchange);
    const database = databaseName(exchange);
    if (!exchange.door.databases.exists(database))
      throw new HttpRefusal({ status: 404, error: `Database '${database}' does not exist` });
    if (!isAskedByServer) {
      exchange.jsonValue(200, { result: await cluster.verify.compare(database) });
      return;
    }
    if (switchOf(exchange, 'mark')) {
      exchange.jsonValue(200, await cluster.verify.mark(database));
      return;
    }
    const verifyId = new URLSearchParams(exchange.queryString).get('verifyId') ?? '';
    if (verifyId === '') throw badRequest("Parameter 'verifyId' is missing");
    exchange.jsonValue(200, await cluster.verify.ownPart(verifyId));
  },
};

const addPeer = management(
  'POST',
  '/cluster/peer',
  {
    id: 'addClusterPeer',
    summary: 'Adds a member',
    body: peerBody,
    bodyIsOptional: false,
    example: {
      body: { 'application/json': { peerId: 'node1_2434', address: 'node1:2434:2480' } },
    },
    answer: done('It is a member'),
  },
  (cluster, _, body) => cluster.management.addPeer(body),
);

const removePeer = management(
  'DELETE',
  '/cluster/peer/:peerId',
  {
    id: 'removeClusterPeer',
    summary: 'Removes a member',
    ...optional,
    query: {
      ...forced.query,
      expectedConfigurationIndex: expectedIndex,
    },
    answer: done('It is none'),
  },
  (cluster, exchange) =>
    cluster.management.removePeer(
      exchange.parameters['peerId'] ?? '',
      switchOf(exchange, 'force'),
      expectedIndexOf(exchange),
    ),
);

const promotePeer = management(
  'POST',
  '/cluster/peer/:peerId/promote',
  {
    id: 'promoteClusterPeer',
    summary: 'Lets a learner vote',
    ...optional,
    answer: done('It votes'),
  },
  (cluster, exchange, body) =>
    cluster.management.promote(exchange.parameters['peerId'] ?? '', body),
);

const transferLeadership = management(
  'POST',
  '/cluster/leader',
  {
    id: 'transferClusterLeadership',
    summary: 'Hands the lead to another member; to be sent to the leader',
    body: object({ peerId: text(), timeoutMs: integer() }, ['peerId', 'timeoutMs']),
    bodyIsOptional: false,
    example: { body: { 'application/json': { timeoutMs: 30_000 } } },
    answer: done('It leads'),
  },
  (cluster, _, body) => cluster.management.transfer(body),
);

const stepDown = management(
  'POST',
  '/cluster/stepdown',
  {
    id: 'stepDownLeader',
    summary: 'Lets the members elect another leader',
    ...optional,
    answer: done('Begun'),
  },
  (cluster) => cluster.management.stepDown(),
);

const leave = management(
  'POST',
  '/cluster/leave',
  {
    id: 'leaveCluster',
    summary: 'Removes this server from the cluster',
    body: object({ expectedConfigurationIndex: expectedIndex }, ['expectedConfigurationIndex']),
    ...optional,
    ...forced,
    example: { body: { 'application/json': {} } },
    answer: done('It has left'),
  },
  (cluster, exchange, body) => cluster.management.leave(switchOf(exchange, 'force'), body),
);

const prepareStop = management(
  'POST',
  '/cluster/prepare-stop',
  {
    id: 'prepareStop',
    summary: 'Hands the lead over before a stop',
    ...optional,
    answer: done('It may stop'),
  },
  (cluster) => cluster.management.prepareStop(),
);

const resync = management(
  'POST',
  '/cluster/resync/:database',
  {
    id: 'resyncDatabase',
    summary: 'Fetches a database anew from the leader',
    ...optional,
    answer: done('Begun'),
  },
  (cluster, exchange) => cluster.management.resync(databaseName(exchange)),
);

export const clusterRoutes: readonly Route[] = [
  clusterGet,
  addPeer,
  removePeer,
  promotePeer,
  transferLeadership,
  stepDown,
  leave,
  prepareStop,
  resync,
  verifyPost,
];
