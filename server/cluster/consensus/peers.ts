import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { Message } from '#raft/message.ts';
import type { ConfState, PeerId } from '#raft/vocabulary.ts';
import { lastWordMs } from './removed-members.ts';
import type { Envelope } from '../transport/envelope.ts';
import type { RaftTls } from '../transport/raft-tls.ts';
import { type Loss, PeerChannel, type UnaryName } from '../transport/peer-channel.ts';
import type { ConsensusOptions } from './worker-messages.ts';

export interface PeersPort {
  readonly options: ConsensusOptions;
  readonly runtime: Runtime;
  conf(): ConfState | undefined;
  names(): Pick<Envelope, 'clusterId' | 'fromStorage'>;
  onLost(peer: PeerId, loss: Loss): void;
}

interface Contact {
  heardMs: number;
  /** Its port refused a connection. */
  refusedMs: number | undefined;
  appendBytes: number;
  appendRejections: number;
  askedMs: number;
  roundTrips: number[];
  /** What is told of them, and since when. */
  told: RoundTrip & { readonly atMs: number };
}

interface RoundTrip {
  readonly last: number | undefined;
  readonly p99: number | undefined;
}

const roundTripsKept = 100;
/** Each other figure is a status that is told to the main thread: with every heartbeat, it would be what an idle leader does most. */
const toldForMs = 1000;
const refusedKeptMs = 10_000;

/** The other members: ways to them, and when they were heard. */
export class Peers {
  readonly #port: PeersPort;
  #tls: RaftTls | undefined;
  readonly #channels = new Map<PeerId, PeerChannel>();
  readonly #contacts = new Map<PeerId, Contact>();

  constructor(port: PeersPort) {
    this.#port = port;
    this.#tls = port.options.tls;
  }

  /** @returns those that were dropped */
  send(messages: readonly Message[]): readonly Message[] {
    if (messages.length === 0) return messages;
    const byPeer = new Map<PeerId, Message[]>();
    for (const message of messages) {
      const list = byPeer.get(message.to);
      if (list === undefined) byPeer.set(message.to, [message]);
      else list.push(message);
    }
    const dropped: Message[] = [];
    for (const [id, list] of byPeer) {
      const contact = this.#contact(id);
      if (list.some(({ type }) => type === 'Heartbeat')) contact.askedMs = this.#nowMs();
      for (const { entries } of list)
        for (const { data } of entries) contact.appendBytes += data.length;
      for (const message of this.channel(id).send(list)) dropped.push(message);
    }
    return dropped;
  }

  heard(id: PeerId, messages: readonly Message[]): void {
    const contact = this.#contact(id);
    contact.heardMs = this.#nowMs();
    for (const { type, reject } of messages)
      if (reject && type === 'AppendResp') contact.appendRejections += 1;
    this.#channels.get(id)?.heard();
    if (!messages.some(({ type }) => type === 'HeartbeatResp')) return;
    contact.roundTrips.push(contact.heardMs - contact.askedMs);
    if (contact.roundTrips.length > roundTripsKept) contact.roundTrips.shift();
  }

  /** Milliseconds; undefined: never heard. */
  silentMs(id: PeerId): number | undefined {
    const heardMs = this.#contacts.get(id)?.heardMs ?? 0;
    return heardMs === 0 ? undefined : this.#nowMs() - heardMs;
  }

  /** Its process is gone, as far as its port tells. */
  wasRefused(id: PeerId): boolean {
    const refusedMs = this.#contacts.get(id)?.refusedMs;
    return refusedMs !== undefined && this.#nowMs() - refusedMs < refusedKeptMs;
  }

  /** Milliseconds, of the last second or older. */
  roundTrip(id: PeerId): RoundTrip {
    const contact = this.#contact(id);
    const { roundTrips, told } = contact;
    const nowMs = this.#nowMs();
    if (nowMs - told.atMs < toldForMs) return told;
    const sorted = [...roundTrips].sort((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)];
    contact.told = { last: roundTrips.at(-1), p99, atMs: nowMs };
    return contact.told;
  }

  /** Since this server started, or knows the peer. */
  counts(id: PeerId): { readonly appendBytes: number; readonly appendRejections: number } {
    const { appendBytes, appendRejections } = this.#contact(id);
    return { appendBytes, appendRejections };
  }

  ask(id: PeerId, name: UnaryName, request: object): Promise<unknown> {
    return this.channel(id).ask(name, request);
  }

  reset(id: PeerId): void {
    this.#channels.get(id)?.reset();
  }

  /** It is no member any more: what is under way may still arrive. */
  forget(id: PeerId): void {
    const channel = this.#channels.get(id);
    this.#channels.delete(id);
    this.#contacts.delete(id);
    this.#port.runtime.timers.after(lastWordMs, () => channel?.close());
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }

  /** From now on connections are made with these. */
  useTls(tls: RaftTls): void {
    this.#tls = tls;
    for (const id of this.#channels.keys()) this.reset(id);
  }

  channel(id: PeerId): PeerChannel {
    const known = this.#channels.get(id);
    if (known !== undefined) return known;
    const { options, runtime, names, onLost } = this.#port;
    const channel = new PeerChannel({
      address: this.#addressOf(id),
      tls: () => this.#tls,
      host: id.replace(/_\d+$/, ''),
      messageBytesMax: options.messageBytesMax,
      clock: runtime.clock,
      timers: runtime.timers,
      envelope: () => ({
        ...names(),
        clusterName: options.clusterName,
        fromPeer: options.self,
        toPeer: id,
        toStorage: this.#storageOf(id),
      }),
      onLost: (loss) => {
        if (loss.isRefused) this.#contact(id).refusedMs = this.#nowMs();
        onLost(id, loss);
      },
    });
    this.#channels.set(id, channel);
    return channel;
  }

  #storageOf(id: PeerId): string {
    const conf = this.#port.conf();
    return (conf && membersOf(conf).get(id)?.storageId) ?? '';
  }

  /** Of the configuration, of the server list, or as the id says: `<host>_<port>`. */
  #addressOf(id: PeerId): string {
    const conf = this.#port.conf();
    const member = conf && membersOf(conf).get(id);
    const declared = this.#port.options.declared.find((known) => known.id === id);
    const address = member?.address ?? declared?.address ?? id.replace(/_(\d+)$/, ':$1');
    return this.#port.options.dialMap?.[address] ?? address;
  }

  #contact(id: PeerId): Contact {
    const known = this.#contacts.get(id);
    if (known !== undefined) return known;
    const fresh = {
      heardMs: 0,
      refusedMs: undefined,
      askedMs: this.#nowMs(),
      appendBytes: 0,
      appendRejections: 0,
      roundTrips: [],
      told: { last: undefined, p99: undefined, atMs: Number.NEGATIVE_INFINITY },
    };
    this.#contacts.set(id, fresh);
    return fresh;
  }

  #nowMs(): number {
    return this.#port.runtime.clock.monotonicMs();
  }
}
