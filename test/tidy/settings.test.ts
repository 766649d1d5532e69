import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as clusterHttpSettings from '#config/cluster-http-settings.ts';
import * as clusterLogSettings from '#config/cluster-log-settings.ts';
import * as clusterResyncSettings from '#config/cluster-resync-settings.ts';
import * as clusterSettings from '#config/cluster-settings.ts';
import * as databaseSettings from '#config/settings.ts';
import * as serverSettings from '#config/server-settings.ts';
import { sourceFiles } from './source-tree.ts';

const all: Readonly<Record<string, unknown>> = {
  ...databaseSettings,
  ...serverSettings,
  ...clusterSettings,
  ...clusterLogSettings,
  ...clusterResyncSettings,
  ...clusterHttpSettings,
};

/** Read by nobody, because. */
const unread: Readonly<Record<string, string>> = {
  txWAL: 'contract: accepted, commits are always durable',
  txWalFlush: 'contract: accepted, commits are always flushed',
  asyncOperationsQueueImpl: 'contract: accepted, there is one queue',
  backupCompressionThreads: 'contract: accepted, backups are packed by one thread',
  serverSecurityAlgorithm: 'contract: there is one algorithm',
};

test('every setting is read by somebody', () => {
  const names = Object.keys(all).filter((name) => isSetting(name) && !(name in unread));
  const texts = sourceFiles('server')
    .filter(({ path }) => !/^server\/config\/([a-z]+-)*settings\.ts$/.test(path))
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
  const value = all[name];
  return typeof value === 'object' && value !== null && 'key' in value;
}
