import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeadLog } from '#cluster/consensus/lead-log.ts';
import type { ConsensusStatus } from '#cluster/consensus-port.ts';

// Lines of the log that people look for, and what is counted beside them (ha.md 15).

const voter = (id: string) => ({ id });
const calm = {
  role: 'follower',
  term: 1,
  leader: undefined,
  raftState: 'RUNNING',
  logState: 'OK',
  configuration: { voters: ['a', 'b', 'c'].map(voter) },
};
type Seen = Partial<Omit<typeof calm, 'leader'>> & { readonly leader?: string };

function watched() {
  const lines: string[] = [];
  const heard = new Set<string>();
  let successor: string | undefined;
  const lead = new LeadLog({
    self: 'a',
    clock: { now: () => 5 },
    votes: () => 2,
    successor: () => successor,
    isHeard: (id) => heard.has(id),
    log: (level, text) => lines.push(`${level} ${text}`),
  });
  const look = (seen: Seen) => {
    lines.length = 0;
    lead.look({ ...calm, ...seen } as unknown as ConsensusStatus);
    return [...lines];
  };
  const handOver = (to: string | undefined) => {
    successor = to;
  };
  return { lead, look, heard, handOver };
}

const leads = (term: number): Seen => ({ role: 'leader', leader: 'a', term });

test('who is elected says in which term and by how many votes, once', () => {
  const { lead, look } = watched();
  assert.deepEqual(look({}), []);
  assert.deepEqual(look(leads(2)), ['info Elected leader in term 2 (2 votes)']);
  assert.deepEqual(look(leads(2)), []);
  assert.deepEqual([lead.electionCount, lead.lastElectionMs, lead.leaderChanges], [1, 5, 0]);
  look({ leader: 'b', term: 3 });
  look({ leader: 'b', term: 3 });
  look({ term: 3 });
  look({ leader: 'b', term: 4 });
  assert.deepEqual([lead.electionCount, lead.leaderChanges], [3, 1], 'b led twice');
});

test('who leads no more says why', () => {
  const { lead, look, heard, handOver } = watched();
  const after = (seen: Seen) => {
    look(leads(2));
    const lines = look(seen);
    look({});
    return lines;
  };
  handOver('b');
  look(leads(2));
  assert.deepEqual(after({ term: 3 }), ['warn Stepping down: the lead goes to b']);
  handOver(undefined);
  assert.deepEqual(after({ term: 3, leader: 'c' }), ['warn Stepping down: term 3 has begun']);
  heard.add('b');
  assert.deepEqual(after({ term: 2 }), [
    'error QUORUM LOST: 2/3',
    'warn Stepping down: no quorum answers (2 of 3 voters)',
  ]);
  const without = { configuration: { voters: ['b', 'c'].map(voter) } };
  assert.deepEqual(after({ term: 2, ...without }), ['warn Stepping down: this server has no vote']);
  assert.deepEqual(after({ term: 2, logState: 'FAILED' }), [
    'warn Stepping down: the Raft log takes no entries',
  ]);
  assert.deepEqual(after({ term: 2, raftState: 'EXCEPTION' }), [
    'warn Stepping down: the log is not applied here',
  ]);
  assert.deepEqual(lead.stepDowns, {
    transfer: 1,
    term: 1,
    quorum: 1,
    removed: 1,
    log: 1,
    apply: 1,
  });
});
