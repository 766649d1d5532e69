import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VerifiedFile } from '#cluster/cluster-view.ts';
import { digestOf as verifiedFiles } from '#cluster/verify/database-digest.ts';
import { entryKind } from '#cluster/replication/entry-codec.ts';
import { ClusterReplication } from '#cluster/replication/replication.ts';
import { silentLog } from '#core/log.ts';
import type { Database } from '#database/database.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { runDatabaseGoldenFile } from '#test/database/support/golden-database.ts';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { ConsensusDouble } from '../support/consensus-double.ts';
import {
  CatalogDouble,
  defaultBounds,
  digestOf,
  ReplicatedServer,
} from '../support/replicated-servers.ts';

// The statements of the golden files answer in a cluster as they do alone, and the log that they leave gives an equal database
// when it is applied in groups of other lengths.
const files = [
  'statements',
  'transactions',
  'limits',
  'schema-targets',
  'review',
  'alter-type',
  'light-edges',
  'maintenance',
  'record-commands',
  'index-entries',
  'cypher-schema',
  'views',
  'triggers',
  'search/full-text',
  'search/vectors',
  'search/sparse',
  'search/geo',
  'javascript',
  'functions',
  'script-rules',
  'match-groups',
  'cypher-batches',
  'cypher-transactions',
  'black-box/scripts',
  'black-box/update',
  'black-box/delete-and-create',
  'black-box/edge-values',
  'black-box/find-references',
  'black-box/maintenance',
  'black-box/move-vertex',
  'black-box/restore',
  'black-box/schema-changes',
  'black-box/triggers',
  '../language/sqlscript/single',
  '../language/sqlscript/transactions',
  '../language/sqlscript/values',
  '../language/sqlscript/variables',
];

/** What verify compares. */
async function filesOf({ state, engine }: Database): Promise<readonly VerifiedFile[]> {
  using view = state.view();
  const { snapshot, catalog } = view;
  // The view lives as long as it is read.
  return await verifiedFiles({ snapshot, catalog, shapes: engine.shapes }, systemRuntime);
}

for (const [seed, name] of files.entries()) {
  const consensus = new ConsensusDouble(['a', 'b']);
  let opened: TestDatabase | undefined;
  const open = async () => {
    opened = await openRecorded(consensus);
    return opened;
  };
  runDatabaseGoldenFile(new URL(`../../database/${name}.txt`, import.meta.url), open);

  test(`the log of ${name} gives an equal database in groups of 1, 7 and 64`, async () => {
    assert.ok(opened);
    let state = seed + 1;
    consensus.port('b').groupLength = () => {
      state = (state * 48_271) % 0x7fff_ffff;
      return [1, 7, 64][state % 3] ?? 1;
    };
    const follower = await ReplicatedServer.start('b', consensus, {});
    try {
      await consensus.settled();
      assert.equal(consensus.port('b').failure, undefined);
      assert.deepEqual(follower.digest(), digestOf(opened.database));
      assert.deepEqual(await filesOf(follower.database), await filesOf(opened.database));
      // Indexes, lists and counters against the records.
      const [found] = (await follower.run('CHECK DATABASE')) as Record<string, unknown>[];
      assert.equal(found?.['totalErrors'], 0, JSON.stringify(found));
    } finally {
      await follower.close();
    }
  });
}

/** A database that is the only member of a cluster of one server that works; the other one reads the log later. */
function openRecorded(consensus: ConsensusDouble): Promise<TestDatabase> {
  const catalog = new CatalogDouble();
  let databases: Databases | undefined;
  let replication: ClusterReplication | undefined;
  const joined = (): ClusterReplication => {
    replication ??= new ClusterReplication({
      port: consensus.port('a'),
      server: catalog,
      bounds: defaultBounds,
      openForApply: async (name) => databases?.openForLog(name),
      runtime: systemRuntime,
      log: silentLog,
    });
    return replication;
  };
  return openTestDatabase({
    cluster: {
      replication: joined,
      begin: async (started) => {
        databases = started;
        catalog.databases = started;
        joined().start();
        consensus.elect('a');
        await consensus.port('a').idle();
      },
      create: async (name) => {
        const member = { name, uuid: '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5', offset: 0 };
        await joined().propose(entryKind.databaseCreate, Buffer.from(JSON.stringify(member)));
      },
      end: async () => {
        await joined().stop();
        replication = undefined;
        consensus.restart('a');
      },
    },
  });
}
