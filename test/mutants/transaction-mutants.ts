import { tests } from './finders.ts';
import type { Mutant } from './mutants.ts';

// Errors of replicated transactions: those of ha-testing.md 7, and B1 to B14, what breaks when the lead
// goes round.

const folder = 'test/cluster/replication';
const breaks = (title: string) => tests(`${folder}/breaks.test.ts`, title);
const transactions = (title: string) => tests(`${folder}/transactions.test.ts`, title);
const replication = (file: string, from: string, to: string) => ({
  file: `server/cluster/replication/${file}`,
  from,
  to,
});

export const transactionMutants: readonly Mutant[] = [
  {
    name: 'M23',
    says: 'the log goes up to what is applied, not to what is durable',
    edits: [
      replication(
        'apply-loop.ts',
        '    this.#compacted = this.#checkpointed;\n    this.#bytesBehind',
        '    this.#compacted = this.#applied;\n    this.#bytesBehind',
      ),
    ],
    finder: tests(`${folder}/compaction.test.ts`),
  },
  {
    name: 'M28',
    says: 'the leader skips its own entries',
    edits: [
      replication(
        'apply-loop.ts',
        'if (seat !== undefined) step.add(',
        'if (seat !== undefined && proposal === undefined) step.add(',
      ),
    ],
    finder: transactions('what the leader commits'),
  },
  {
    name: 'M31',
    says: 'a leader validates before its no-op is applied',
    edits: [
      replication(
        'replication.ts',
        "status.role === 'leader' && status.leaderReady",
        "status.role === 'leader'",
      ),
    ],
    finder: breaks('6: a leader'),
  },
  {
    name: 'M32',
    says: 'after a refused batch numbers go on with a gap',
    edits: [
      replication(
        'group-commit.ts',
        'for (const seat of this.#numbered) seat.lastTxId = seat.acceptedTxId;',
        '',
      ),
    ],
    finder: transactions('a refused batch'),
  },
  {
    name: 'M34',
    says: 'an unknown outcome is told as not committed',
    edits: [
      replication(
        'group-commit.ts',
        'proposal.unknown(\n          ',
        "proposal.lost(notCommitted('no quorum')); else String(\n          ",
      ),
    ],
    finder: transactions('after the deadline'),
  },
  {
    name: 'M36',
    says: 'request ids are not followed',
    edits: [
      {
        file: 'server/database/catalogue/following.ts',
        from: 'isReplayKeyName(name) && value !== undefined',
        to: 'isReplayKeyName(name) && value === undefined',
      },
    ],
    finder: breaks('3: schema'),
  },
  {
    name: 'M37',
    says: 'a bookmark is not waited for',
    edits: [
      {
        file: 'server/cluster/reads/read-barrier.ts',
        from: 'if (index > this.#view.appliedIndex())',
        to: 'if (index < 0)',
      },
    ],
    finder: tests('test/cluster/doors/reads.test.ts'),
  },
  {
    name: 'B1',
    says: 'a transaction of an earlier leadership is committed under a later one',
    edits: [
      replication(
        'raft-replicator.ts',
        'if (leadership === undefined || leadership === term) return term;',
        'if (leadership !== 0) return term;',
      ),
    ],
    finder: breaks('1: a transaction that was begun'),
  },
  {
    name: 'B1b',
    says: 'numbers that were learnt and not committed are kept',
    edits: [
      {
        file: 'server/transaction/database-state.ts',
        from: '    this.#options.engine.shapes.forgetUnsaved();\n',
        to: '',
      },
      {
        file: 'server/storage/format/shape.ts',
        from: '      this.#keep((other) => other !== id && (this.#saved.has(other) || this.#taken.has(other)));\n',
        to: '      return;\n',
      },
    ],
    finder: breaks('1: '),
  },
  {
    name: 'B2',
    says: 'positions of an earlier leadership go on in the next one',
    edits: [
      {
        file: 'server/transaction/database-state.ts',
        from: '    this.positions.forgetAll();\n',
        to: '',
      },
    ],
    finder: breaks('2: positions'),
  },
  {
    name: 'B3',
    says: 'settings of a database change only where they were set',
    edits: [
      {
        file: 'server/database/catalogue/following.ts',
        from: 'if (name === settingsDocumentName) own.become(value);',
        to: 'if (name === settingsDocumentName) continue;',
      },
    ],
    finder: breaks('3: schema'),
  },
  {
    name: 'B4',
    says: 'the offset of a database is forgotten',
    edits: [
      replication(
        'database-seat.ts',
        '(entry.index + this.member.offset) as LogIndex',
        'entry.index as LogIndex',
      ),
    ],
    finder: breaks('4: a database'),
  },
  {
    name: 'B5',
    says: 'who gives up waiting lets go of what its commit holds',
    edits: [
      replication(
        'proposal.ts',
        'this.#answer.reject(new UnknownOutcome(message, this.#fate.promise));',
        'this.#answer.reject(new UnknownOutcome(message, Promise.resolve(undefined)));',
      ),
    ],
    finder: transactions('after the deadline'),
  },
  {
    name: 'B6',
    says: 'limits of a row are judged at apply',
    edits: [
      replication(
        'raft-replicator.ts',
        '      requireStorable(entry.operations, this.#options.seat.engine.shapes);\n',
        '',
      ),
    ],
    finder: breaks('6: a row'),
  },
  {
    name: 'B6b',
    says: 'what cannot be applied is passed over',
    edits: [replication('database-seat.ts', '    this.damage = reason;\n', '')],
    finder: breaks('2: an entry that meets'),
  },
  {
    name: 'B7',
    says: 'a repair of one copy goes to all',
    edits: [
      {
        file: 'server/transaction/database-state.ts',
        from: '      if (this.#replicator.leadership !== undefined) throw notMendedHere();\n',
        to: '',
      },
    ],
    finder: breaks('7: what one copy'),
  },
  {
    name: 'B8',
    says: 'what a leader left unfinished is finished by nobody',
    edits: [
      {
        file: 'server/transaction/database-state.ts',
        from: '    return this.#changes.settleUnfinished();\n',
        to: '    return Promise.resolve();\n',
      },
    ],
    finder: breaks('8: an index'),
  },
  {
    name: 'B9',
    says: 'entries carry no versions they were made from',
    edits: [
      replication(
        'write-sets.ts',
        'return base ?? unchecked;',
        'return base === unchecked ? base : unchecked;',
      ),
    ],
    finder: breaks('2: an entry that meets'),
  },
  {
    name: 'B10',
    says: 'a write asks no quorum for the newest state',
    edits: [
      {
        file: 'server/http/routes/statements.ts',
        from: '    return answerByLeader(exchange, call);\n  return answerFresh(exchange, call);',
        to: '    return answerByLeader(exchange, call);\n  return answerHere(exchange, call);',
      },
    ],
    finder: tests('test/cluster/doors/reads.test.ts', 'a write and a session'),
  },
  {
    name: 'B11',
    says: 'a session asks no quorum for the newest state',
    edits: [
      {
        file: 'server/http/routes/transactions.ts',
        from: '    await beforeRead(exchange);\n',
        to: '',
      },
    ],
    finder: tests('test/cluster/doors/reads.test.ts', 'a write and a session'),
  },
  {
    name: 'B12',
    says: 'a stop leaves who waits for a place in the log',
    edits: [replication('group-commit.ts', ', ...[...this.#unanswered].flat()]', ']')],
    finder: tests('test/cluster/replication/group-commit.test.ts'),
  },
  {
    name: 'B13',
    says: 'a checkpoint writes the catalog while an entry does',
    edits: [
      {
        file: 'server/cluster/catalog/server-catalog.ts',
        from: 'this.#writing.then(() => this.#replace(next()))',
        to: 'this.#replace(next())',
      },
    ],
    finder: tests('test/cluster/catalog/server-catalog.test.ts', 'a checkpoint beside'),
  },
  {
    name: 'B14',
    says: 'a checkpoint records a database whose files are not whole',
    edits: [
      {
        file: 'server/cluster/catalog/server-catalog.ts',
        from: '({ ...this.#written, checkpointed: index })',
        to: '({ ...this.#document, checkpointed: index })',
      },
    ],
    finder: tests('test/cluster/catalog/server-catalog.test.ts', 'a checkpoint amid'),
  },
];
