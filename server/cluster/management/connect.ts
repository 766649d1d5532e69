import { DatabaseError } from '#core/errors.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { KnownPeer, PeerAddresses } from '../forwarding/peer-addresses.ts';
import { PeerFailure, type PeerHttp } from '../forwarding/peer-http.ts';
import type { ClusterToken } from '../token/cluster-token.ts';

export interface ConnectOptions {
  readonly view: ClusterView;
  readonly addresses: PeerAddresses;
  readonly http: Pick<PeerHttp, 'askWhole'>;
  readonly token: ClusterToken;
}

const joinMs = 120_000;

/**
 * `connect cluster <address>` (http-api.md 12): has a member take this server in, as `POST /cluster/peer` sent there would. The
 * secret of the cluster goes to nobody whom `service.ha.serverList` does not name.
 * @throws DatabaseError `IllegalArgument`, `NotSupported`, `QuorumNotReached`
 */
export async function connectTo(
  address: string,
  user: string,
  options: ConnectOptions,
): Promise<void> {
  const { view, addresses, http, token } = options;
  const { self } = view.consensus;
  const members = addresses.known().filter(({ member }) => member !== undefined);
  const isMember = members.some(({ id }) => id === self);
  if (view.consensus.status().role === 'leader' && members.length > 1) return;
  // Who was taken out may not have heard of it, so that what it takes itself for does not count; a member is told that it is one.
  if (isMember && members.length === 1)
    throw new DatabaseError(
      'NotSupported',
      'not supported: connect cluster from a server that is a cluster of its own; start it with an empty root path, service.ha.startMode=join and a server list that names the members',
    );
  const to = addresses
    .known()
    .find((peer) => peer.id !== self && namesOf(peer, addresses).includes(address));
  const dial = to && addresses.dial(to.id);
  if (dial === undefined || dial.kind === 'refused')
    throw new DatabaseError(
      'IllegalArgument',
      `'${address.slice(0, 100)}' is no address (host:httpPort, or host:raftPort:httpPort) of a server that service.ha.serverList names${dial === undefined ? '' : `: ${dial.reason}`}`,
    );
  const own = addresses.find(self);
  const ownPort = addresses.addresses('http').get(self)?.split(':').at(-1);
  const body = {
    peerId: self,
    address: `${own?.address ?? ''}:${ownPort ?? ''}`,
    name: view.serverName,
  };
  try {
    const answer = await http.askWhole(dial, {
      method: 'POST',
      path: '/api/v1/cluster/peer',
      headers: {
        'content-type': 'application/json',
        'x-service-cluster-token': token.value,
        'x-service-forwarded-user': encodeURIComponent(user),
      },
      body: Buffer.from(JSON.stringify(body)),
      firstByteMs: joinMs,
    });
    if (answer.status === 200) return;
    throw new DatabaseError(
      'QuorumNotReached',
      `${address} answers ${answer.status}: ${answer.body.toString().slice(0, 300)}`,
    );
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    throw new DatabaseError('QuorumNotReached', `${address} was not reached: ${error.message}`);
  }
}

/** How a command may name a server: by its HTTP address, by its id, or as the server list has it. */
function namesOf({ id, address }: KnownPeer, addresses: PeerAddresses): readonly string[] {
  const http = addresses.addresses('http').get(id);
  return http === undefined
    ? [id, address]
    : [id, address, http, `${address}:${http.split(':').at(-1)}`];
}
