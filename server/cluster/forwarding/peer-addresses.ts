import type { Log } from '#core/log.ts';
import type { Member, PeerId } from '#raft/vocabulary.ts';
import type { ClusterView, DeclaredPeer } from '../cluster-view.ts';

/** The ports of this server that others are taken to use where they say nothing (ha.md 4.8). */
export interface OwnPorts {
  readonly http: number;
  /** Undefined: TLS is off. */
  readonly https: number | undefined;
}

/** What is dialled in place of an address: for trials in which connections are cut (`dev/`). */
export type DialMap = ReadonlyMap<string, string>;

export type Dial =
  | {
      readonly kind: 'address';
      /** Whom it is for: an address may have become another server's. */
      readonly peer: PeerId;
      readonly host: string;
      readonly port: number;
      readonly isSecure: boolean;
    }
  | { readonly kind: 'refused'; readonly reason: string };

/** A server of the cluster: declared, a member, or both. */
export interface KnownPeer {
  readonly id: PeerId;
  readonly name: string | undefined;
  readonly host: string;
  /** `host:raftPort` */
  readonly address: string;
  readonly raftPort: number;
  readonly http: number | undefined;
  readonly https: number | undefined;
  /** Client-reachable ports that are declared. */
  readonly bolt: number | undefined;
  readonly grpc: number | undefined;
  readonly priority: number;
  /** Of the live configuration; undefined when it is declared only. */
  readonly member: Member | undefined;
  readonly isDeclared: boolean;
}

type Protocol = 'http' | 'https' | 'bolt' | 'grpc';

/**
 * Where the HTTP doors of other servers are (ha.md 4.8). An address that two of them claim, or that is this server's own, is
 * withheld: nothing is sent to whom it does not identify. It is told once for each protocol, and again when others collide.
 */
export class PeerAddresses {
  readonly #view: ClusterView;
  readonly #ownPorts: () => OwnPorts;
  readonly #log: Log;
  readonly #told = new Map<Protocol, string>();
  #hasToldPlain = false;

  readonly #dialMap: DialMap;

  constructor(
    view: ClusterView,
    {
      ownPorts,
      log,
      dialMap = new Map(),
    }: { ownPorts: () => OwnPorts; log: Log; dialMap?: DialMap },
  ) {
    this.#dialMap = dialMap;
    this.#view = view;
    this.#ownPorts = ownPorts;
    this.#log = log;
  }

  #mapped(peer: PeerId, address: string, isSecure: boolean): Dial {
    return { ...addressOf(this.#dialMap.get(address) ?? address, isSecure), peer };
  }

  get #own(): OwnPorts {
    return this.#ownPorts();
  }

  /** Members and declared servers, by id. */
  known(): readonly KnownPeer[] {
    const { configuration } = this.#view.consensus.status();
    const members = [...configuration.voters, ...configuration.learners];
    const declared = new Map(this.#view.declared.map((peer) => [peer.id, peer]));
    const found = new Map<PeerId, KnownPeer>();
    for (const peer of this.#view.declared)
      found.set(
        peer.id,
        knownPeer(
          peer,
          members.find(({ id }) => id === peer.id),
        ),
      );
    for (const member of members)
      if (!declared.has(member.id)) found.set(member.id, addedPeer(member));
    return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  find(id: PeerId): KnownPeer | undefined {
    return this.known().find((peer) => peer.id === id);
  }

  /** For the log: name and id. */
  shownName(id: PeerId): string {
    const name = this.find(id)?.name;
    return name === undefined || name === id ? id : `${name} (${id})`;
  }

  /** Doors that this server does not have tell nothing of those of others. */
  #ownPort(protocol: Protocol): number | undefined {
    return protocol === 'http' || protocol === 'https' ? this.#own[protocol] : undefined;
  }

  /** `host:port` of each server whose address is nobody else's. */
  addresses(protocol: Protocol): ReadonlyMap<PeerId, string> {
    const claims = new Map<string, PeerId[]>();
    for (const peer of this.known()) {
      const port = peer[protocol] ?? this.#ownPort(protocol);
      if (port === undefined) continue;
      const address = `${peer.host}:${port}`;
      claims.set(address, [...(claims.get(address) ?? []), peer.id]);
    }
    const usable = new Map<PeerId, string>();
    const colliding: string[] = [];
    for (const [address, ids] of claims) {
      const [first] = ids;
      if (ids.length === 1 && first !== undefined) usable.set(first, address);
      else colliding.push(`${address} of ${ids.join(', ')}`);
    }
    this.#tell(protocol, colliding.join('; '));
    return usable;
  }

  isAmbiguous(id: PeerId): boolean {
    return !this.addresses('http').has(id);
  }

  /** How to reach a server, or why nothing is sent to it. */
  dial(id: PeerId): Dial {
    if (id === this.#view.consensus.self) return refused('it is this server');
    const peer = this.find(id);
    if (peer === undefined) return refused(`server '${id}' is not known`);
    if (this.#own.https !== undefined) {
      const secure = this.addresses('https').get(id);
      if (secure !== undefined) return this.#mapped(id, secure, true);
      this.#tellPlain(id);
    }
    const plain = this.addresses('http').get(id);
    if (plain !== undefined) return this.#mapped(id, plain, false);
    const port = peer.http ?? this.#own.http;
    const others = this.known().filter(
      (other) =>
        other.id !== id && other.host === peer.host && (other.http ?? this.#own.http) === port,
    );
    return refused(
      `HTTP address is shared with ${others.map((other) => other.id).join(', ')}: declare http in service.ha.serverList`,
    );
  }

  /** For the look at what a build understands only (contract 3): the port by the distance between Raft and HTTP ports. */
  dialForCapabilities(id: PeerId): Dial {
    const dial = this.dial(id);
    const self = this.find(this.#view.consensus.self);
    const peer = this.find(id);
    if (dial.kind === 'address' || self === undefined || peer === undefined) return dial;
    const port = peer.raftPort + (this.#own.http - self.raftPort);
    if (id === self.id || port < 1 || port > 65_535) return dial;
    return { kind: 'address', peer: id, host: unbracketed(peer.host), port, isSecure: false };
  }

  /** Who is to be a member, and may be none of those that are known yet. */
  dialNewcomer(member: Member): Dial {
    if (this.find(member.id) !== undefined) return this.dialForCapabilities(member.id);
    const { host, http, https } = addedPeer(member);
    const secure = this.#own.https === undefined ? undefined : (https ?? this.#own.https);
    const address = `${host}:${secure ?? http ?? this.#own.http}`;
    return this.#mapped(member.id, address, secure !== undefined);
  }

  #tell(protocol: Protocol, colliding: string): void {
    if (colliding === (this.#told.get(protocol) ?? '')) return;
    this.#told.set(protocol, colliding);
    if (colliding !== '')
      this.#log.warn(
        `${protocol} addresses that several servers share are not used: ${colliding}; declare ${protocol} in service.ha.serverList`,
      );
  }

  #tellPlain(id: PeerId): void {
    if (this.#hasToldPlain) return;
    this.#hasToldPlain = true;
    this.#log.warn(
      `no HTTPS address of ${id} is known: traffic between servers goes over plain HTTP`,
    );
  }
}

function knownPeer(peer: DeclaredPeer, member: Member | undefined): KnownPeer {
  return {
    id: peer.id,
    name: member?.name ?? peer.name,
    host: peer.host,
    address: `${peer.host}:${peer.raftPort}`,
    raftPort: peer.raftPort,
    http: member?.http ?? peer.http,
    https: member?.https ?? peer.https,
    bolt: peer.bolt,
    grpc: peer.grpc,
    priority: member?.priority ?? peer.priority,
    member,
    isDeclared: true,
  };
}

function addedPeer(member: Member): KnownPeer {
  const at = member.address.lastIndexOf(':');
  return {
    id: member.id,
    name: member.name,
    host: member.address.slice(0, at),
    address: member.address,
    raftPort: Number(member.address.slice(at + 1)),
    http: member.http,
    https: member.https,
    bolt: undefined,
    grpc: undefined,
    priority: member.priority,
    member,
    isDeclared: false,
  };
}

function refused(reason: string): Dial {
  return { kind: 'refused', reason };
}

function addressOf(
  text: string,
  isSecure: boolean,
): Omit<Extract<Dial, { kind: 'address' }>, 'peer'> {
  const at = text.lastIndexOf(':');
  return {
    kind: 'address',
    host: unbracketed(text.slice(0, at)),
    port: Number(text.slice(at + 1)),
    isSecure,
  };
}

function unbracketed(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** Of the text in `POLYAD_DIAL_MAP`: an object of `host:port` by `host:port`. */
export function parseDialMap(text: string | undefined): DialMap {
  if (text === undefined || text === '') return new Map();
  return new Map(Object.entries(JSON.parse(text) as Record<string, string>));
}
