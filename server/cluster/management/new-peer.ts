import type { Member } from '#raft/vocabulary.ts';
import { Fields, wrong } from './fields.ts';

/** What `POST /cluster/peer` asks for (ha.md 11.2). */
export interface NewPeer {
  readonly member: Member;
  readonly isLearner: boolean;
  readonly expectedIndex: number | undefined;
  readonly timeoutMs: number;
}

const known = [
  'peerId',
  'address',
  'name',
  'priority',
  'learner',
  'expectedConfigurationIndex',
  'timeoutMs',
];
const catchUpMs = 600_000;

/** @throws DatabaseError `IllegalArgument` */
export function readNewPeer(given: ReadonlyMap<string, unknown>, raftPort: number): NewPeer {
  const fields = new Fields(given, known);
  const id = fields.requiredText('peerId');
  const address = parseAddress(fields.requiredText('address'), raftPort);
  const expectedId = `${address.host}_${address.raft}`;
  if (id !== expectedId)
    throw wrong(`Field 'peerId' is '${id}'; of this address it must be '${expectedId}'`);
  const name = fields.text('name') ?? address.name;
  const isLearner = fields.flag('learner') ?? false;
  const priority = fields.integer('priority', -1_000_000, 1_000_000) ?? address.priority ?? 0;
  return {
    member: {
      id,
      address: `${address.host}:${address.raft}`,
      ...(name === undefined ? undefined : { name }),
      priority,
      canLead: true,
      // Learnt when it says hello.
      storageId: '',
      voter: !isLearner,
      ...(address.http === undefined ? undefined : { http: address.http }),
      ...(address.https === undefined ? undefined : { https: address.https }),
    },
    isLearner,
    expectedIndex: fields.integer('expectedConfigurationIndex', 0),
    timeoutMs: fields.integer('timeoutMs', 1, 3_600_000) ?? catchUpMs,
  };
}

interface PeerAddressText {
  readonly name?: string | undefined;
  readonly host: string;
  readonly raft: number;
  readonly http?: number | undefined;
  readonly https?: number | undefined;
  readonly priority?: number | undefined;
}

/** `host:raftPort:httpPort[:priority[:httpsPort]]` or `host:{raft:..., http:...}`, both with `name@` in front or not. */
function parseAddress(text: string, raftPort: number): PeerAddressText {
  const shape = /^(?:([^@:{}\s]+)@)?(\[[0-9a-fA-F:.]+\]|[^@:{}[\]\s]+)(?::(.*))?$/.exec(text);
  const [, name, host, rest = ''] = shape ?? [];
  if (host === undefined) throw malformed(text);
  const object = /^\{(.*)\}$/.exec(rest);
  const ports = object ? objectForm(object[1] ?? '', text) : positionalForm(rest, text);
  return { name, host, ...ports, raft: ports.raft ?? raftPort };
}

const keys = ['raft', 'http', 'https', 'bolt', 'grpc', 'priority'] as const;
type Ports = { readonly [K in (typeof keys)[number]]?: number };

function objectForm(body: string, text: string): Ports {
  const found: Record<string, number> = {};
  for (const part of body.split(',')) {
    const [key = '', value = '', ...more] = part.split(':').map((word) => word.trim());
    const isKnown = (keys as readonly string[]).includes(key) && !(key in found);
    if (!isKnown || more.length > 0) throw malformed(text);
    found[key] = key === 'priority' ? integerOf(value, text) : portOf(value, text);
  }
  return found;
}

function positionalForm(rest: string, text: string): Ports {
  if (rest === '') return {};
  const parts = rest.split(':');
  if (parts.length > 4) throw malformed(text);
  const [raft, http, priority, https] = parts;
  return {
    ...(raft === undefined ? undefined : { raft: portOf(raft, text) }),
    ...(http === undefined ? undefined : { http: portOf(http, text) }),
    ...(priority === undefined ? undefined : { priority: integerOf(priority, text) }),
    ...(https === undefined ? undefined : { https: portOf(https, text) }),
  };
}

function portOf(value: string, text: string): number {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port >= 1 && port <= 65_535) return port;
  throw malformed(text);
}

function integerOf(value: string, text: string): number {
  if (/^-?\d{1,9}$/.test(value)) return Number(value);
  throw malformed(text);
}

function malformed(text: string) {
  return wrong(
    `Field 'address' is '${text.slice(0, 100)}'; use <host>:<raftPort>:<httpPort> or an entry of service.ha.serverList`,
  );
}
