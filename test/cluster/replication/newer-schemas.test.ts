import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { encodeEntry, entryKind, UnknownEntry } from '#cluster/replication/entry-codec.ts';
import { encodeTransaction } from '#cluster/replication/write-sets.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { type ReplicatedServer, ReplicatedServers } from '../support/replicated-servers.ts';

// A member meets the schema of a newer build: a format of a search index that it cannot keep up, say. It stops before the entry and
// shows what it has; it is no copy that differs, which would be thrown away and fetched anew for ever (ha.md 16 rule 3).

const started: ReplicatedServers[] = [];
after(async () => {
  for (const servers of started) await servers.close();
});

interface Document {
  format: number;
  features?: string[];
  readonly indexes: { kind: string }[];
}

function schemaOf({ database }: ReplicatedServer): Document {
  using snapshot = database.engine.snapshot();
  return JSON.parse(Buffer.from(snapshot.meta('schema') ?? []).toString()) as Document;
}

/** What the newer build that leads has put into the log. */
function append(servers: ReplicatedServers, operations: readonly RowOperation[], more: number) {
  const { engine } = servers.of('a').database;
  servers.consensus.append(
    'normal',
    encodeEntry({
      kind: entryKind.transaction,
      wallTimeMs: 1,
      txId: engine.applied().txId + more,
      database: '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5',
      body: encodeTransaction(operations, undefined),
    }),
  );
}

const changes: Readonly<Record<string, (document: Document) => void>> = {
  "the feature 'packed-postings'": (document) => {
    document.format = 3;
    document.features = ['packed-postings'];
  },
  'format 9': (document) => {
    document.format = 9;
  },
  "of kind 'toString'": (document) => {
    for (const index of document.indexes) index.kind = 'toString';
  },
};

for (const [name, change] of Object.entries(changes)) {
  test(`a schema with ${name} is not applied, nor is what stands behind it, and no copy counts as another`, async () => {
    const servers = await ReplicatedServers.start(['a', 'b']);
    started.push(servers);
    const [a, b] = [servers.of('a'), servers.of('b')];
    await a.run('CREATE DOCUMENT TYPE D');
    await a.run('CREATE PROPERTY D.t STRING');
    await a.run('CREATE INDEX ON D (t) FULL_TEXT');
    await a.run("INSERT INTO D SET t = 'old horses'");
    await servers.settled();
    const document = schemaOf(a);
    change(document);
    const before = { digest: b.digest(), index: servers.consensus.log.length };
    const note: RowOperation = { op: 'meta', name: 'note', value: Buffer.from('x') };
    append(servers, [note], 1);
    append(servers, [{ op: 'schema', document: Buffer.from(JSON.stringify(document)) }], 2);
    append(servers, [note], 3);
    servers.consensus.appended();
    await servers.settled();
    const failed = (): void => {
      const { failure } = servers.consensus.port('b');
      assert.ok(failure instanceof UnknownEntry, String(failure));
      assert.match(failure.message, new RegExp(`a schema has .*${name}.*needs a newer version`));
    };
    failed();
    const find = () => b.run("SELECT t FROM D WHERE search_index('D[t]', 'horses')");
    assert.deepEqual(await find(), [{ t: 'old horses' }]);
    const applied = b.database.engine.applied().txId;
    assert.equal(applied, (before.digest['applied'] as { txId: number }).txId + 1);
    assert.deepEqual(schemaOf(b), JSON.parse(String(before.digest['schema'])));
    await b.restart();
    await servers.settled();
    failed();
    assert.deepEqual(await find(), [{ t: 'old horses' }]);
    assert.equal(b.database.engine.applied().txId, applied);
  });
}
