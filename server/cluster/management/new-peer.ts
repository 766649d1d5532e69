import { DatabaseError } from '#core/errors.ts';
import type { Member } from '#raft/vocabulary.ts';
import { type ListEntry, parseEntry, peerIdOf } from '../server-list.ts';
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
  const address = parseAddress(fields.requiredText('address'));
  const port = address.raft ?? raftPort;
  const expectedId = peerIdOf(address.host, port);
  if (id !== expectedId)
    throw wrong(`Field 'peerId' is '${id}'; of this address it must be '${expectedId}'`);
  const name = fields.text('name') ?? address.name;
  const isLearner = fields.flag('learner') ?? false;
  const priority = fields.integer('priority', -1_000_000, 1_000_000) ?? address.priority ?? 0;
  return {
    member: {
      id,
      address: `${address.host}:${port}`,
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

/** As an entry of the server list. @throws DatabaseError `IllegalArgument` */
function parseAddress(text: string): ListEntry {
  try {
    return parseEntry(text);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw wrong(
      `Field 'address' is '${text.slice(0, 100)}': ${error.message.replace(/^.*': /, '')}; use <host>:<raftPort>:<httpPort> or an entry of service.ha.serverList`,
    );
  }
}
