import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsensusStatus } from '#cluster/consensus-port.ts';
import { traceLeadership, verboseLog } from '#cluster/status/verbose-log.ts';
import { haLogVerbose } from '#config/cluster-settings.ts';
import { Settings } from '#config/effective-settings.ts';

test('each level has the lines of the lower ones, and the setting holds at once', () => {
  const lines: string[] = [];
  const settings = new Settings(new Map());
  const trace = verboseLog(settings, { info: (text) => void lines.push(text) });
  const tellAll = () => {
    trace(1, 'one');
    trace(2, 'two');
    trace(3, 'three');
    return lines.splice(0);
  };
  assert.deepEqual(tellAll(), []);
  settings.set(haLogVerbose, '1');
  assert.deepEqual(tellAll(), ['one']);
  settings.set(haLogVerbose, '2');
  assert.deepEqual(tellAll(), ['one', 'two']);
  settings.set(haLogVerbose, '3');
  assert.deepEqual(tellAll(), ['one', 'two', 'three']);
});

test('role, term, leader and members are told when one of them changes', () => {
  const told: unknown[] = [];
  let status = {
    role: 'follower',
    term: 1,
    leader: undefined,
    configuration: { voters: [{ id: 'a' }, { id: 'b' }], learners: [] },
    configurationIndex: 1,
  } as unknown as ConsensusStatus;
  let listener: (status: ConsensusStatus) => void = () => assert.fail('nobody listens');
  const become = (change: Partial<ConsensusStatus>) => {
    status = { ...status, ...change };
    listener(status);
  };
  const consensus = {
    status: () => status,
    onStatus: (given: typeof listener) => {
      listener = given;
      return () => {
        listener = () => {};
      };
    },
  };
  const stop = traceLeadership(consensus, (level, _, fields) => void told.push([level, fields]));
  become({ commitIndex: 7 });
  become({ role: 'leader', leader: 'a', term: 2 });
  stop();
  become({ term: 3 });
  const members = { voters: 'a b', learners: '', configurationIndex: 1 };
  assert.deepEqual(told, [
    [1, { role: 'follower', term: 1, leader: 'none', ...members }],
    [1, { role: 'leader', term: 2, leader: 'a', ...members }],
  ]);
});
