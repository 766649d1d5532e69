import { rules, tests, walks } from './finders.ts';
import type { Mutant } from './mutants.ts';

// Errors of consensus; numbers are those of ha-testing.md 7.

const properties = tests('test/raft/properties.test.ts');
const raft = (file: string, from: string, to: string) => ({
  file: `server/raft/${file}`,
  from,
  to,
});

export const coreMutants: readonly Mutant[] = [
  {
    name: 'M1',
    says: 'a vote is told before the disk has it',
    edits: [
      raft('message.ts', "type === 'VoteResp' || type === 'PreVoteResp'", "type === 'PreVoteResp'"),
    ],
    finder: walks,
  },
  {
    name: 'M2',
    says: 'a new term alone is not written',
    edits: [
      raft(
        'node.ts',
        'return term !== state.term || vote !== state.vote || commit !== state.log.commit;',
        'return term < 0 || vote !== state.vote || commit !== state.log.commit;',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M3',
    says: 'an entry of an older term is committed by counting',
    edits: [
      raft(
        'replication.ts',
        'return state.log.term(index) === state.term ? index : 0;',
        'return index;',
      ),
      raft('replication.ts', 'state.log.term(index) === state.term,', 'state.term > 0,'),
    ],
    finder: walks,
  },
  {
    name: 'M4',
    says: 'who is up to date is judged by the length alone',
    edits: [
      raft(
        'log.ts',
        'return term > this.lastTerm || (term === this.lastTerm && index >= this.lastIndex);',
        'return index >= this.lastIndex && term >= 0;',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M4b',
    says: 'who is up to date is judged by the length before the term',
    edits: [
      raft(
        'log.ts',
        'return term > this.lastTerm || (term === this.lastTerm && index >= this.lastIndex);',
        'return index > this.lastIndex || (index === this.lastIndex && term >= this.lastTerm);',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M5',
    says: 'every append cuts the log off',
    edits: [
      raft(
        'log.ts',
        'entries.findIndex(({ index, term }) => !this.hasEntry(index, term));',
        'entries.findIndex(({ index }) => index > this.commit);',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M6',
    says: 'a follower acknowledges its last entry instead of the last one covered',
    edits: [raft('log.ts', 'return previous + entries.length;', 'return this.lastIndex;')],
    finder: walks,
  },
  {
    name: 'M7',
    says: 'a heartbeat carries the bare commit index',
    edits: [
      raft(
        'replication.ts',
        'const commit = Math.min(peer.match, state.log.commit);',
        'const { commit } = state.log;',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M8',
    says: 'an append is acknowledged before the disk has it',
    edits: [raft('message.ts', " || type === 'AppendResp'", '')],
    finder: walks,
  },
  {
    name: 'M9',
    says: 'an acknowledgement of the disk holds in every term',
    edits: [raft('node.ts', 'if (term === state.term && index > 0)', 'if (term > 0 && index > 0)')],
    finder: properties,
  },
  {
    name: 'M10',
    says: 'committed entries are applied before they are durable',
    edits: [
      raft(
        'log.ts',
        'this.applying < Math.min(this.commit, this.durableIndex)',
        'this.applying < this.commit',
      ),
      raft(
        'log.ts',
        'const high = Math.min(this.commit, this.durableIndex) + 1;',
        'const high = this.commit + 1;',
      ),
    ],
    finder: walks,
  },
  {
    name: 'M11',
    says: 'no pre-vote',
    edits: [
      raft(
        'node.ts',
        "!state.isPromotable) return;\n    campaign(state, state.limits.preVote ? 'pre-vote' : 'vote');",
        "!state.isPromotable) return;\n    campaign(state, 'vote');",
      ),
    ],
    finder: rules,
  },
  {
    name: 'M12',
    says: 'who hears a leader lets itself be disturbed',
    edits: [
      raft(
        'elections.ts',
        'state.electionElapsed < state.limits.electionTicksMin',
        'state.electionElapsed < 0',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M12b',
    says: 'the lease is in the way of a transfer',
    edits: [raft('elections.ts', '    !message.transfer &&\n', '')],
    finder: rules,
  },
  {
    name: 'M13',
    says: 'a learner refuses votes',
    edits: [
      raft(
        'elections.ts',
        'state.admitted && isFree &&',
        'state.isVoter && state.admitted && isFree &&',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M14',
    says: 'a read is served before the no-op is committed',
    edits: [raft('node.ts', 'if (state.log.commit < state.noopIndex)', 'if (state.noopIndex < 0)')],
    finder: rules,
  },
  {
    name: 'M15',
    says: 'a leader answers a read without a round',
    edits: [
      raft(
        'replication.ts',
        'state.voterSets.every((ids) => ids.length === 1 && ids[0] === state.self)',
        'state.voterSets.length > 0',
      ),
      raft(
        'replication.ts',
        'id === state.self ? state.reads.sent : confirmedRound(state, id)',
        'confirmedRound(state, id) < 0 ? 0 : state.reads.sent',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M17',
    says: 'reads outlive the role',
    edits: [raft('roles.ts', '  state.reads = new ReadRounds();\n', '')],
    finder: rules,
  },
  {
    name: 'M18',
    says: 'a second change of membership while one is under way',
    edits: [
      raft(
        'node.ts',
        "if (state.pendingConfs.length > 0 || state.log.applied < state.confGate) return 'pending';\n",
        '',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M19',
    says: 'a fresh leader changes members before its no-op',
    edits: [
      raft(
        'replication.ts',
        'state.confGate = state.noopIndex;',
        'state.confGate = state.noopIndex - 1;',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M20',
    says: 'a joint change needs the new majority only',
    edits: [
      raft(
        'quorum.ts',
        'return conf.votersOutgoing.length === 0',
        'return conf.votersOutgoing.length >= 0',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M21',
    says: 'a leader that is removed still counts itself',
    edits: [
      raft(
        'replication.ts',
        'quorumIndex(state.voterSets, (id) => countedMatch(state, id));',
        'quorumIndex(state.voterSets.map((ids) => [...new Set([...ids, state.self])]), (id) => countedMatch(state, id));',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M22',
    says: 'an empty disk votes',
    edits: [raft('elections.ts', 'state.admitted && isFree &&', 'isFree &&')],
    finder: rules,
  },
  {
    name: 'M22b',
    says: 'an empty disk confirms reads',
    edits: [
      raft(
        'replication.ts',
        'return peer?.isCounted === true ? peer.readRound : 0;',
        'return peer?.readRound ?? 0;',
      ),
    ],
    finder: rules,
  },
  {
    name: 'M42',
    says: 'the window is never free again',
    edits: [raft('progress.ts', 'if (count > 0) this.#window.splice(0, count);', '')],
    finder: rules,
  },
  {
    name: 'M42b',
    says: 'each refusal of what an earlier attempt sent begins another attempt',
    edits: [raft('replication.ts', 'if (peer.attempt !== message.context) return;', '')],
    finder: rules,
  },
  {
    name: 'C1',
    says: 'nobody ends a joint change that an earlier leader began',
    edits: [
      raft('replication.ts', '  leaveJoint(state);\n}', '  if (isChanged) leaveJoint(state);\n}'),
    ],
    finder: rules,
  },
  {
    name: 'C2',
    says: 'a report that a snapshot was sent counts as an acknowledgement',
    edits: [
      raft(
        'replication.ts',
        'if (isInstalled) peer.next = Math.max(next, peer.next);',
        'if (isInstalled) peer.match = Math.max(peer.match, next - 1);',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C3',
    says: 'after a removal nobody looks at what it lets through',
    edits: [
      raft(
        'replication.ts',
        'for (let index = committable(state); index > state.log.commit; index = committable(state)) {',
        'for (let index = committable(state); index > state.log.commit; index = 0) {',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C4',
    says: 'a snapshot carries the newest configuration',
    edits: [
      raft(
        'node.ts',
        '...state.compactConfs(index) }',
        '...state.compactConfs(index), conf: state.conf }',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C4b',
    says: 'a configuration is named by the snapshot that carries it',
    edits: [
      raft(
        'node.ts',
        '...state.compactConfs(index) }',
        '...state.compactConfs(index), confIndex: index }',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C5',
    says: 'who may not lead never hands over what it alone has',
    edits: [raft('state.ts', 'this.hasRefusedOlder &&', 'this.term < 0 &&')],
    finder: rules,
  },
  {
    name: 'C5b',
    says: 'who may not lead campaigns although nobody needs it',
    edits: [raft('state.ts', 'this.hasRefusedOlder &&', 'this.term >= 0 &&')],
    finder: rules,
  },
  {
    name: 'C5c',
    says: 'a leader that may not lead takes entries',
    edits: [
      raft(
        'node.ts',
        'state.isCaretaker || state.transferTo !== undefined',
        'state.transferTo !== undefined',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C5d',
    says: 'a leader that may not lead gives the lead to one that lacks its entries',
    edits: [
      raft(
        'replication.ts',
        'canLead && state.progress.get(id)?.match === lastIndex',
        'canLead && (state.progress.get(id)?.match ?? 0) >= 0 * lastIndex',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C6',
    says: 'a process that has just started campaigns without asking first',
    edits: [
      raft(
        'roles.ts',
        'if (!preVote || !checkQuorum || state.role',
        'if (!checkQuorum || state.role',
      ),
    ],
    finder: rules,
  },
  {
    name: 'C6b',
    says: 'the short timeout of a start stays when a leader is heard',
    edits: [raft('node.ts', 'if (state.leader === undefined) drawTimeout(state);', '')],
    finder: rules,
  },
  {
    name: 'M48',
    says: 'the lead goes to whom the leader cannot reach',
    edits: [
      {
        file: 'server/cluster/consensus/lead-targets.ts',
        from: '      id !== except &&\n',
        to: '',
      },
    ],
    finder: tests('test/cluster/consensus/lead-targets.test.ts'),
  },
  {
    name: 'M48b',
    says: 'an escalation has no cooldown',
    edits: [
      {
        file: 'server/cluster/consensus/channel-monitor.ts',
        from: 'escalatedMs !== undefined && nowMs - escalatedMs < cooldownMs',
        to: 'escalatedMs !== undefined && nowMs < 0',
      },
    ],
    finder: tests('test/cluster/consensus/channel-monitor.test.ts'),
  },
];
