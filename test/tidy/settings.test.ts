import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as databaseSettings from '#config/settings.ts';
import * as serverSettings from '#config/server-settings.ts';
import { sourceFiles } from './source-tree.ts';

/** Read by nobody, because. */
const unread: Readonly<Record<string, string>> = {
  txWAL: 'contract: accepted, commits are always durable',
  txWalFlush: 'contract: accepted, commits are always flushed',
  asyncOperationsQueueImpl: 'contract: accepted, there is one queue',
  backupCompressionThreads: 'contract: accepted, backups are packed by one thread',
  serverReadinessRequiresHA: 'waits for replication',
  serverReadinessHAMaxLag: 'waits for replication',
  serverSecurityAlgorithm: 'contract: there is one algorithm',
};

test('every setting is read by somebody', () => {
  const names = [...Object.keys(databaseSettings), ...Object.keys(serverSettings)].filter(
    (name) => isSetting(name) && !(name in unread),
  );
  const texts = sourceFiles('server')
    .filter(({ path }) => !/^server\/config\/(server-)?settings\.ts$/.test(path))
    .map(({ text }) => text)
    .join('\n');
  const words = new Set(texts.match(/[A-Za-z][A-Za-z0-9]*/g));
  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
  assert.deepEqual(
    Object.keys(unread).filter((name) => !isSetting(name)),
    [],
    'settings that are gone',
  );
});

function isSetting(name: string): boolean {
  const all = { ...databaseSettings, ...serverSettings } as Readonly<Record<string, unknown>>;
  const value = all[name];
  return typeof value === 'object' && value !== null && 'key' in value;
}
