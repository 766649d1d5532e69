import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { haSnapshotWriteTimeout } from '#config/cluster-resync-settings.ts';
import { badRequest, HttpRefusal, refusalOf } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { parseAnyJsonObject } from '../request/json-body.ts';
import { clusterOf } from './cluster.ts';
import { databaseName } from './database-parameter.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Operation, Route } from './route.ts';

/*
 * Endpoints between servers of a cluster (ha.md 11.4): they prove themselves by its token, and no password, root's neither,
 * stands for it.
 */

function peerRoute(
  method: 'GET' | 'POST',
  path: string,
  status: 401 | 403,
  handle: (exchange: Exchange, cluster: ClusterDoor) => void | Promise<void>,
  operation?: Operation,
): Route {
  return {
    method,
    path,
    access: 'peer',
    ...(operation && { operation }),
    handle: (exchange) => {
      if (!exchange.isPeer) throw new HttpRefusal({ status, error: 'Cluster token required' });
      return handle(exchange, clusterOf(exchange));
    },
  };
}

const authSession = peerRoute('POST', '/cluster/auth-session', 403, async (exchange, { view }) => {
  const { tokens } = exchange.door;
  const body = await parseAnyJsonObject(exchange, await exchange.body(), {
    invalidStatus: 400,
    mayBeEmpty: false,
  });
  const [token, action] = [body.get('token'), body.get('action')];
  if (typeof token !== 'string' || !token.startsWith('AU-'))
    throw badRequest("Field 'token' must be a token of a login");
  if (action === 'revoke') {
    tokens.revokedElsewhere(token);
    exchange.noContent();
  } else if (action === 'validate') {
    const found = tokens.confirm(token);
    if (found === undefined) throw new HttpRefusal({ status: 404, error: 'Unknown token' });
    exchange.jsonValue(200, { ...found, appliedIndex: view.appliedIndex() });
  } else throw badRequest("Field 'action' must be validate or revoke");
});

const capabilities = peerRoute(
  'POST',
  '/cluster/capabilities',
  403,
  async (exchange, { view, capabilities: own, sharedSettings }) => {
    await exchange.body();
    const { version, databases } = exchange.door;
    exchange.jsonValue(200, {
      peerId: view.consensus.self,
      version,
      capabilities: own,
      databases: databases.names(),
      settings: sharedSettings,
    });
  },
);

const bootstrapState = peerRoute(
  'POST',
  '/cluster/bootstrap-state',
  403,
  async (exchange, { view }) => {
    await exchange.body();
    if (view.bootstrapState === undefined)
      throw new DatabaseError('NotSupported', 'not supported yet: bootstrap from local databases');
    exchange.jsonValue(200, await view.bootstrapState());
  },
);

const stage = peerRoute('POST', '/cluster/stage/:uuid', 403, async (exchange, { view }) => {
  await exchange.body();
  const uuid = exchange.parameters['uuid'] ?? '';
  exchange.jsonValue(200, view.stageOf?.(uuid) ?? { state: 'unknown' });
});

const snapshot = peerRoute(
  'GET',
  '/ha/snapshot/:database',
  401,
  async (exchange, { view, addresses }) => {
    const database = snapshotName(exchange);
    const { role, leader } = view.consensus.status();
    if (role !== 'leader') {
      const address = leader === undefined ? undefined : addresses.addresses('http').get(leader);
      const error = new DatabaseError(
        'NotLeader',
        `Server '${view.serverName}' is not the leader`,
        {
          arguments: address === undefined ? [] : [address],
        },
      );
      throw new HttpRefusal({ ...refusalOf(error), status: 409 });
    }
    await sendArchive(exchange, view, database);
  },
  {
    id: 'downloadSnapshot',
    summary: 'A copy of a database, for members that prove themselves by the token of the cluster',
    answers: {},
  },
);

/** A name that could be a path is refused before anything is looked for. */
function snapshotName(exchange: Exchange): string {
  const name = databaseName(exchange);
  if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(name)) throw badRequest('Invalid database name');
  return name;
}

async function sendArchive(
  exchange: Exchange,
  { snapshots }: ClusterDoor['view'],
  database: string,
): Promise<void> {
  if (snapshots === undefined)
    throw new DatabaseError('NotSupported', 'not supported yet: snapshots of databases');
  const query = new URLSearchParams(exchange.queryString);
  const stage = query.get('stage') ?? undefined;
  if (stage === undefined && !exchange.door.databases.exists(database))
    throw new HttpRefusal({ status: 404, error: `Database '${database}' does not exist` });
  const archive = await snapshots.open(database, {
    from: wholeNumber(query, 'from'),
    index: wholeNumber(query, 'index'),
    stage,
  });
  const { response } = exchange;
  const stop = () => archive.close();
  response.once('close', stop);
  try {
    const headers = [
      'Content-Type',
      'application/zip',
      'Content-Disposition',
      `attachment; filename="${database.replaceAll(/["\\]/g, '_')}-snapshot.zip"`,
      'X-Service-Snapshot-Manifest',
      '1',
      'X-Service-Snapshot-Index',
      String(archive.appliedIndex),
      ...(archive.uuid === undefined ? [] : ['X-Service-Snapshot-Uuid', archive.uuid]),
      'Cache-Control',
      'no-store',
    ];
    response.writeHead(200, exchange.headersOf(headers, undefined));
    for await (const piece of archive.pieces) await write(exchange, piece);
    response.end();
  } catch (error) {
    exchange.fail(error);
  } finally {
    response.off('close', stop);
    archive.close();
  }
}

/** At the speed of the receiver; one that takes nothing for long is cut off. */
async function write({ response, door }: Exchange, piece: Uint8Array): Promise<void> {
  if (response.destroyed) throw new DatabaseError('Cancelled', 'the receiver has left');
  if (response.write(piece)) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (act: () => void) => () => {
      cancel();
      response.off('drain', drained);
      response.off('close', closed);
      act();
    };
    const drained = settle(resolve);
    const closed = settle(() => reject(new DatabaseError('Cancelled', 'the receiver has left')));
    const cancel = door.runtime.timers.after(door.settings.get(haSnapshotWriteTimeout), () =>
      response.destroy(),
    );
    response.on('drain', drained);
    response.on('close', closed);
  });
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`Parameter '${name}' must be a whole number`);
}

export const documentedPeerRoutes: readonly Route[] = [snapshot];
export const otherPeerRoutes: readonly Route[] = [authSession, capabilities, bootstrapState, stage];
