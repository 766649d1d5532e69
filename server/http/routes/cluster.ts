import type { preParsingHookHandler, preValidationHookHandler } from 'fastify';
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
import type { JsonSchema } from '../request/body-fields.ts';
import {
  objectBody,
  type QuerySchema,
  queryWith,
  switchParameter,
  textParameter,
} from '../request/input-schema.ts';
import { databaseName } from './database-parameter.ts';
import type { Resource } from './resource.ts';
import type { Answer, RequestExample } from './route.ts';
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
  504: telling('Not finished in time, or nobody can tell whether the change was made'),
};

/** What people ask of a cluster, and what their request says beside its path. */
interface Management {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly answer: Answer;
  /** Needed, and documented so; without it a body may be left out. */
  readonly body?: JsonSchema;
  readonly example?: RequestExample;
  readonly query?: QuerySchema<ForceQuery>;
  /** Documented, and may be left out. */
  readonly bodyIsOptional?: boolean;
  readonly run: (asked: {
    readonly cluster: ClusterDoor;
    readonly exchange: Exchange;
    readonly body: ReadonlyMap<string, unknown>;
    readonly query: ForceQuery;
  }) => Promise<ManagementAnswer>;
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

const doneAnswer = (description: string): Answer => ({
  description,
  schema: { ...object({ result: text() }), additionalProperties: true },
});

interface ForceQuery {
  readonly force?: boolean;
  readonly expectedConfigurationIndex?: number | undefined;
}

const expectedIndex = integer('Refused when the configuration is another one');
const forceParameter = switchParameter('Also against the guard');
const forced = queryWith({ force: forceParameter });
const forcedAt: QuerySchema<ForceQuery> = queryWith({
  force: forceParameter,
  expectedConfigurationIndex: {
    schema: expectedIndex,
    read: (value: string | null, name) => {
      if (value === null) return undefined;
      const index = Number(value);
      if (/^\d+$/.test(value) && Number.isSafeInteger(index)) return index;
      throw badRequest(`Parameter '${name}' is '${value.slice(0, 60)}'; it must be a whole number`);
    },
  },
});
const anyBody = objectBody();
/** Of a server that compares. */
const partQuery = queryWith({
  mark: switchParameter('Begins a comparison'),
  verifyId: textParameter(),
});

const statusSchema = {
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
};

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

const managements: readonly Management[] = [
  {
    method: 'POST',
    path: '/cluster/peer',
    operationId: 'addClusterPeer',
    summary: 'Adds a member',
    body: peerBody,
    example: {
      body: { 'application/json': { peerId: 'node1_2434', address: 'node1:2434:2480' } },
    },
    answer: doneAnswer('It is a member'),
    run: ({ cluster, body }) => cluster.management.addPeer(body),
  },
  {
    method: 'DELETE',
    path: '/cluster/peer/:peerId',
    operationId: 'removeClusterPeer',
    summary: 'Removes a member',
    query: forcedAt,
    answer: doneAnswer('It is none'),
    run: ({ cluster, exchange, query }) =>
      cluster.management.removePeer(
        exchange.parameters['peerId'] ?? '',
        query.force === true,
        query.expectedConfigurationIndex,
      ),
  },
  {
    method: 'POST',
    path: '/cluster/peer/:peerId/promote',
    operationId: 'promoteClusterPeer',
    summary: 'Lets a learner vote',
    answer: doneAnswer('It votes'),
    run: ({ cluster, exchange, body }) =>
      cluster.management.promote(exchange.parameters['peerId'] ?? '', body),
  },
  {
    method: 'POST',
    path: '/cluster/leader',
    operationId: 'transferClusterLeadership',
    summary: 'Hands the lead to another member; to be sent to the leader',
    body: object({ peerId: text(), timeoutMs: integer() }, ['peerId', 'timeoutMs']),
    example: { body: { 'application/json': { timeoutMs: 30_000 } } },
    answer: doneAnswer('It leads'),
    run: ({ cluster, body }) => cluster.management.transfer(body),
  },
  {
    method: 'POST',
    path: '/cluster/stepdown',
    operationId: 'stepDownLeader',
    summary: 'Lets the members elect another leader',
    answer: doneAnswer('Begun'),
    run: ({ cluster }) => cluster.management.stepDown(),
  },
  {
    method: 'POST',
    path: '/cluster/leave',
    operationId: 'leaveCluster',
    summary: 'Removes this server from the cluster',
    query: forced,
    body: object({ expectedConfigurationIndex: expectedIndex }, ['expectedConfigurationIndex']),
    bodyIsOptional: true,
    example: { body: { 'application/json': {} } },
    answer: doneAnswer('It has left'),
    run: ({ cluster, query, body }) => cluster.management.leave(query.force === true, body),
  },
  {
    method: 'POST',
    path: '/cluster/prepare-stop',
    operationId: 'prepareStop',
    summary: 'Hands the lead over before a stop',
    body: object({ handOver: flag('False: all members stop, so the lead stays where it is') }, [
      'handOver',
    ]),
    bodyIsOptional: true,
    example: { body: { 'application/json': {} } },
    answer: doneAnswer('It may stop'),
    run: ({ cluster, body }) => cluster.management.prepareStop(body),
  },
  {
    method: 'POST',
    path: '/cluster/resync/:database',
    operationId: 'resyncDatabase',
    summary: 'Fetches a database anew from the leader',
    answer: doneAnswer('Begun'),
    run: ({ cluster, exchange }) => cluster.management.resync(databaseName(exchange)),
  },
];

export const cluster: Resource = (scope, { door }, done) => {
  scope.get(
    '/cluster',
    {
      config: { access: 'root' },
      schema: {
        operationId: 'getClusterStatus',
        summary: 'Leader, members and their state',
        querystring: queryWith({
          presence: switchParameter('Asks every member which databases it has'),
        }),
        response: {
          200: { description: 'As this server knows it', schema: statusSchema },
          ...refusals,
        },
      },
      preParsing: requireCluster,
    },
    async ({ exchange, query: { presence } }) => clusterOf(exchange).report.read(presence),
  );

  for (const asked of managements) {
    const { method, path, operationId, summary, body, example, query } = asked;
    const bodyIsOptional = asked.bodyIsOptional ?? body === undefined;
    scope.route({
      method,
      url: path,
      config: { access: 'root' },
      schema: {
        operationId,
        summary,
        ...(query && { querystring: query }),
        body: body === undefined ? anyBody : objectBody(body),
        bodyIsOptional,
        ...(example && { example }),
        response: { 200: asked.answer, ...refusals },
      },
      preParsing: requireCluster,
      ...(!bodyIsOptional && { preValidation: requireBody }),
      handler: async (request, reply) => {
        const { exchange } = request;
        const given = request.body as ReadonlyMap<string, unknown>;
        const query = asked.query === undefined ? {} : (request.query as ForceQuery);
        const cluster = clusterOf(exchange);
        const answered = await asked.run({ cluster, exchange, body: given, query });
        const line = `${method} ${exchange.request.url?.split('?', 1)[0]?.slice(0, 200)}`;
        const outcome = answered.status === 200 ? '' : ` (${answered.status})`;
        const message = `User '${exchange.principal.name}' from ${exchange.source}: ${line}${outcome}`;
        door.events.report('INFO', 'HA', message, null, exchange.requestId);
        reply.hijack();
        send(exchange, answered);
      },
    });
  }

  scope.post(
    '/cluster/verify/:database',
    {
      config: { access: 'peer' },
      schema: {
        operationId: 'verifyClusterDatabase',
        summary: 'Compares a database between the members',
        response: { 200: resultAnswer('Peers and what they hold', mapOf(true)), ...refusals },
      },
    },
    async ({ exchange }) => {
      const { isPeer, principal } = exchange;
      const isAskedByServer = isPeer && !exchange.isForwarded;
      if (!isAskedByServer && !principal.isRoot) throw rootOnly(principal.name);
      const { verify } = clusterOf(exchange);
      const database = databaseName(exchange);
      if (!door.databases.exists(database))
        throw new HttpRefusal({ status: 404, error: `Database '${database}' does not exist` });
      if (!isAskedByServer) {
        // ha.md 11.3, unlike other requests to it, which are 503.
        if (verify.isInstalling(database))
          throw new HttpRefusal({
            status: 409,
            error: `Database '${database}' is being installed on this server`,
          });
        return { result: await verify.compare(database) };
      }
      // Parameters of servers; people have none.
      const { mark, verifyId } = partQuery.read(exchange.queryString);
      if (mark) return await verify.mark(database);
      if (verifyId === '') throw badRequest("Parameter 'verifyId' is missing");
      return await verify.ownPart(verifyId);
    },
  );
  done();
};

/** Before the body is read: who may manage a cluster learns first whether there is one. */
const requireCluster: preParsingHookHandler = (request, _reply, payload, next) => {
  try {
    clusterOf(request.exchange);
    next(null, payload);
  } catch (error) {
    next(error as Error);
  }
};

const requireBody: preValidationHookHandler = ({ bytes }, _reply, next) => {
  if (bytes.length > 0) next();
  else next(badRequest('A JSON object is expected; {} asks for nothing special') as never);
};
