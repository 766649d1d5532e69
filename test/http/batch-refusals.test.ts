import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError, type ErrorCode } from '#core/errors.ts';
import { batchRefusal } from '#http/answer/batch-answer.ts';

// What POST /batch answers when a commit fails, before its first commit and behind it (limits.md 1; ha.md 6.5, 12.1).

const refusalAfter = (code: ErrorCode, vertices: number) => {
  const counts = { vertices, edges: 0, lines: 30, skippedLines: 0, bytes: 900 };
  return batchRefusal(new DatabaseError(code, 'it failed', { arguments: ['b'] }), { counts });
};

test('what clients repeat by themselves is told while nothing is committed, and not any more behind that', () => {
  for (const code of ['QuorumNotReached', 'NotLeader', 'ConcurrentModification', 'Busy'] as const) {
    const [first, later] = [refusalAfter(code, 0), refusalAfter(code, 20)];
    assert.deepEqual([first.status, later.status], [503, 500], code);
    assert.equal(first.exception, later.exception, code);
    assert.deepEqual([first.more?.['partialCommit'], later.more?.['partialCommit']], [false, true]);
    assert.deepEqual([later.more?.['verticesCreated'], later.headers], [20, undefined], code);
    assert.equal(later.more?.['outcome'], undefined, code);
  }
});

test('nobody knows of the chunk that was on its way: the answer says so beside what is certain', () => {
  for (const vertices of [0, 20]) {
    const { status, more } = refusalAfter('OutcomeUnknown', vertices);
    assert.deepEqual(
      [status, more],
      [
        500,
        {
          outcome: 'unknown',
          verticesCreated: vertices,
          edgesCreated: 0,
          linesRead: 30,
          partialCommit: vertices > 0,
        },
      ],
    );
  }
});
