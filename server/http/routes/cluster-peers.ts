import type { preParsingHookHandler } from 'fastify';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { partsHeader, receiverHeader, type SnapshotArchive } from '#cluster/cluster-view.ts';
import { haSnapshotWriteTimeout } from '#config/cluster-resync-settings.ts';
import { badRequest, HttpRefusal, notTheLeader } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { objectBody } from '../request/input-schema.ts';
import { clusterOf } from './cluster.ts';
import { databaseName } from './database-parameter.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Resource } from './resource.ts';

/*
 * Endpoints between servers of a cluster (ha.md 11.4): they prove themselves by its token, and no password, root's neither,
 * stands for it.
 */

/** Only servers of the cluster. @param status what others are answered */
function requirePeer(status: 401 | 403): preParsingHookHandler {
  return ({ exchange }, _reply, payload, next) => {
    try {
      if (!exchange.isPeer) throw new HttpRefusal({ status, error: 'Cluster token required' });
      clusterOf(exchange);
      next(null, payload);
    } catch (error) {
      next(error as Error);
    }
  };
}

export const clusterPeers: Resource = (scope, { door }, done) => {
  scope.get(
    '/ha/snapshot/:database',
    {
      config: { access: 'peer' },
      preParsing: requirePeer(401),
      schema: {
        operationId: 'downloadSnapshot',
        summary:
          'A copy of a database, for members that prove themselves by the token of the cluster',
        response: {},
      },
    },
    async ({ exchange }, reply) => {
      const database = snapshotName(exchange);
      const cluster = clusterOf(exchange);
      requireLeader(cluster);
      await sendArchive(exchange, cluster, database);
      return reply.hijack();
    },
  );

  scope.get(
    '/ha/snapshot/:database/checksums',
    { config: { access: 'peer' }, preParsing: requirePeer(401) },
    async ({ exchange }) => {
      const database = snapshotName(exchange);
      const { view, addresses, verify } = clusterOf(exchange);
      requireLeader({ view, addresses });
      if (!door.databases.exists(database)) throw unknownDatabase(database);
      const { verifyId } = await verify.mark(database);
      const { index, localChecksums } = await verify.ownPart(verifyId);
      return { algorithm: 'sha256', appliedIndex: index, files: localChecksums };
    },
  );

  const config = { access: 'peer' } as const;
  const preParsing = requirePeer(403);

  scope.post(
    '/cluster/auth-session',
    { config, preParsing, schema: { body: objectBody() } },
    async ({ exchange, body }, reply) => {
      const [token, action] = [body.get('token'), body.get('action')];
      if (typeof token !== 'string' || !token.startsWith('AU-'))
        throw badRequest("Field 'token' must be a token of a login");
      if (action === 'revoke') {
        door.tokens.revokedElsewhere(token);
        reply.code(204);
        return undefined;
      }
      if (action !== 'validate') throw badRequest("Field 'action' must be validate or revoke");
      const found = door.tokens.confirm(token);
      if (found === undefined) throw new HttpRefusal({ status: 404, error: 'Unknown token' });
      return { ...found, appliedIndex: clusterOf(exchange).view.appliedIndex() };
    },
  );

  const ignoring = { config: { ...config, ignoresBody: true }, preParsing };

  scope.post('/cluster/capabilities', ignoring, async ({ exchange }) => {
    const { view, capabilities, formatVersions, sharedSettings } = clusterOf(exchange);
    return {
      peerId: view.consensus.self,
      version: door.version,
      capabilities,
      formatVersions,
      databases: door.databases.names(),
      settings: sharedSettings,
    };
  });

  scope.post('/cluster/bootstrap-state', ignoring, async ({ exchange }) => {
    const { view } = clusterOf(exchange);
    if (view.bootstrapState === undefined)
      throw new DatabaseError('NotSupported', 'not supported yet: bootstrap from local databases');
    return await view.bootstrapState();
  });

  scope.post('/cluster/stage/:uuid', ignoring, async ({ exchange }) => {
    const uuid = exchange.parameters['uuid'] ?? '';
    return clusterOf(exchange).view.stageOf?.(uuid) ?? { state: 'unknown' };
  });
  done();
};

/** @throws HttpRefusal 409 that names who leads */
function requireLeader({ view, addresses }: Pick<ClusterDoor, 'view' | 'addresses'>): void {
  const { role, leader } = view.consensus.status();
  if (role === 'leader') return;
  const address = leader === undefined ? undefined : addresses.addresses('http').get(leader);
  const message = `Server '${view.serverName}' is not the leader`;
  throw new HttpRefusal(notTheLeader(409, { message, address }));
}

function unknownDatabase(database: string): HttpRefusal {
  return new HttpRefusal({ status: 404, error: `Database '${database}' does not exist` });
}

/** A name that could be a path is refused before anything is looked for. */
function snapshotName(exchange: Exchange): string {
  const name = databaseName(exchange);
  if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(name)) throw badRequest('Invalid database name');
  return name;
}

async function sendArchive(
  exchange: Exchange,
  { view: { snapshots }, addresses, snapshotBytes }: ClusterDoor,
  database: string,
): Promise<void> {
  if (snapshots === undefined)
    throw new DatabaseError('NotSupported', 'not supported yet: snapshots of databases');
  const query = new URLSearchParams(exchange.queryString);
  const stage = query.get('stage') ?? undefined;
  if (stage === undefined && !exchange.door.databases.exists(database))
    throw unknownDatabase(database);
  const archive = await snapshots.open(database, {
    from: wholeNumber(query, 'from'),
    index: wholeNumber(query, 'index'),
    stage,
    isInParts: exchange.header(partsHeader) === '1',
  });
  const { response } = exchange;
  const stop = () => archive.close();
  response.once('close', stop);
  try {
    const headers = [
      ...formHeaders(archive, database),
      'X-Service-Snapshot-Index',
      String(archive.appliedIndex),
      ...(archive.uuid === undefined ? [] : ['X-Service-Snapshot-Uuid', archive.uuid]),
      ...sizeHeaders(archive),
      'Cache-Control',
      'no-store',
    ];
    response.writeHead(200, exchange.headersOf(headers, undefined));
    const receiver = addresses.find(exchange.header(receiverHeader) ?? '')?.id ?? 'unknown';
    for await (const piece of archive.pieces) {
      await write(exchange, piece);
      snapshotBytes.add(receiver, piece.length);
    }
    response.end();
  } catch (error) {
    exchange.fail(error);
  } finally {
    response.off('close', stop);
    archive.close();
  }
}

function formHeaders({ form }: SnapshotArchive, database: string): readonly string[] {
  if (form === 'parts')
    return ['Content-Type', 'application/octet-stream', 'X-Service-Snapshot-Parts', '1'];
  const fileName = `${database.replaceAll(/["\\]/g, '_')}-snapshot.zip`;
  return [
    'Content-Type',
    'application/zip',
    'Content-Disposition',
    `attachment; filename="${fileName}"`,
    'X-Service-Snapshot-Manifest',
    '1',
  ];
}

/** So that a receiver without room refuses it before the first byte. */
function sizeHeaders({ sizes, from = 0 }: SnapshotArchive): readonly string[] {
  const { archiveBytes, databaseBytes } = sizes;
  return [
    ...(archiveBytes === undefined ? [] : ['Content-Length', String(archiveBytes)]),
    'X-Service-Snapshot-Size',
    String(databaseBytes),
    ...(from === 0 ? [] : ['X-Service-Snapshot-From', String(from)]),
  ];
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
