import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesForLabels, labelsOf, MissingTypes, typeOfLabels } from '#catalog/labels.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { formatRid, type Rid } from '#core/value/rid.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { setLabels } from '#transaction/write/set-labels.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// Goal: a node whose labels change keeps its id and its edges, and everything that knows of types follows at once.
// Method: random transactions of inserts, label changes, updates and deletions beside a naive model; after each, and in the midst of
// some, scans, counts, index reads, labels, edges and CHECK DATABASE are compared with it.

const longest = 'C'.repeat(256);
const labelNames = ['A', 'B', longest, '__proto__', 'x~y', 'q`t'];

/** May read what is not of B, by the names of types; no name here but those of B has such a part. */
const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };
const isOfB = (type: string): boolean => type.split('~').includes('B');
const withoutB: Authorizer = {
  require(who, _database, { types }) {
    if (!who.isRoot && types?.some(isOfB) !== false) throw new DatabaseError('Forbidden', 'of B');
  },
  canAccess: () => true,
  canRead: (who, _database, type) => who.isRoot || (type !== undefined && !isOfB(type)),
};

interface Node {
  readonly rid: Rid;
  labels: ReadonlySet<string>;
  key: number;
}

type Model = Map<Rid, Node>;

/** A small generator of numbers: the same seed gives the same run. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Runs the work in a transaction as statements do: what is missing is made, and the work is done again. */
async function transact(
  db: TestDatabase,
  work: (transaction: Transaction) => void | Promise<void>,
  end: 'commit' | 'rollback' = 'commit',
): Promise<void> {
  for (;;) {
    const transaction = db.database.state.begin('REPEATABLE_READ');
    try {
      transaction.beginStatement();
      await work(transaction);
      if (end === 'commit') await transaction.commit();
      return;
    } catch (error) {
      if (!(error instanceof MissingTypes)) throw error;
      for (const change of error.changes) await db.database.state.alter(change);
    } finally {
      transaction.rollback();
    }
  }
}

function insert(transaction: Transaction, labels: readonly string[], key: number): Rid {
  const missing = changesForLabels(transaction.catalog, labels);
  if (missing.length > 0) throw new MissingTypes(missing);
  const type = typeOfLabels(transaction.catalog, labels);
  assert(type);
  return transaction.insertVertex(type.id, new Map([['key', key]])).rid;
}

const quoted = (name: string): string => `\`${name.replaceAll('`', '\\`')}\``;

async function compare(db: TestDatabase, model: Model, options = {}): Promise<void> {
  const catalog = db.database.state.catalog;
  for (const label of labelNames) {
    if (catalog.typeNamed(label) === undefined) continue;
    const wanted = [...model.values()].filter(({ labels }) => labels.has(label));
    const ids = wanted.map(({ rid }) => formatRid(rid)).sort();
    const name = quoted(label);
    const rows = await db.run(`SELECT @rid AS r FROM ${name}`, {}, options);
    assert.deepEqual(rows.map((row) => String(row['r'])).sort(), ids, `scan of ${label}`);
    const [count] = await db.run(`SELECT count(*) AS n FROM ${name}`, {}, options);
    assert.equal(count?.['n'], ids.length, `count of ${label}`);
    await compareForClerk(db, name, wanted, options);
    const [sum] = await db.run(`SELECT sum(key) AS n FROM ${name} WHERE key >= 0`, {}, options);
    assert.equal(
      sum?.['n'] ?? 0,
      wanted.reduce((all, { key }) => all + key, 0),
      `sum of ${label}`,
    );
    for (const { key, rid } of wanted.slice(0, 3)) {
      const found = await db.run(`SELECT @rid AS r FROM ${name} WHERE key = ${key}`, {}, options);
      assert(
        found.some((row) => String(row['r']) === formatRid(rid)),
        `key ${key} of ${label}`,
      );
    }
    const some = [...model.values()].filter(({ labels }) => !labels.has(label)).slice(0, 3);
    for (const { key, rid } of some) {
      const found = await db.run(`SELECT @rid AS r FROM ${name} WHERE key = ${key}`, {}, options);
      assert(
        !found.some((row) => String(row['r']) === formatRid(rid)),
        `no key ${key} of ${label}`,
      );
    }
  }
}

/** A scan, a count, an index and record ids give who may not read B what is not of it now, and refuse what is. */
async function compareForClerk(
  db: TestDatabase,
  name: string,
  nodes: readonly Node[],
  options: object,
): Promise<void> {
  const ask = (text: string) => db.run(text, {}, { ...options, principal: clerk });
  const isRefused = (text: string) => assert.rejects(ask(text), { code: 'Forbidden' }, text);
  const scan = `SELECT @rid AS r FROM ${name}`;
  const count = `SELECT count(*) AS n FROM ${name}`;
  if (name === '`B`' || nodes.some(({ labels }) => labels.has('B'))) {
    await isRefused(scan);
    await isRefused(count);
  } else {
    assert.equal((await ask(scan)).length, nodes.length, `${name} for the clerk`);
    assert.equal((await ask(count))[0]?.['n'], nodes.length, `count of ${name} for the clerk`);
  }
  for (const { rid, key, labels } of nodes.slice(-4))
    for (const one of [`FROM ${formatRid(rid)}`, `FROM ${name} WHERE key = ${key}`])
      if (name === '`B`' || labels.has('B')) await isRefused(`SELECT ${one}`);
      else if (one.startsWith('FROM #')) assert.equal((await ask(`SELECT ${one}`)).length, 1, one);
}

function compareIn(transaction: Transaction, model: Model): void {
  const { catalog } = transaction;
  for (const { rid, labels, key } of model.values()) {
    const record = transaction.record(rid);
    assert(record, formatRid(rid));
    assert.deepEqual(labelsOf(catalog, record.type), [...labels].sort());
    assert.equal(record.get('key'), key);
  }
  for (const type of catalog.types()) {
    if (type.kind !== 'vertex') continue;
    let count = 0;
    for (const bucket of type.buckets) {
      const cursor = transaction.scan(bucket, 'ascending');
      let seen = 0;
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        assert.equal(record.type, type.id);
        seen += 1;
      }
      assert.equal(transaction.recordCount(bucket), seen, `${type.name} in ${bucket}`);
      count += seen;
    }
    const wanted = [...model.values()].filter(
      ({ labels }) => typeOfLabels(catalog, [...labels])?.id === type.id,
    );
    assert.equal(count, wanted.length, type.name);
  }
}

async function requireSound(db: TestDatabase): Promise<void> {
  const [report] = await db.run('CHECK DATABASE');
  assert.deepEqual(report?.['warnings'] ?? [], [], JSON.stringify(report));
}

async function open(): Promise<TestDatabase> {
  const db = await openTestDatabase({ authorizer: withoutB });
  await db.run('CREATE VERTEX TYPE A');
  await db.run('CREATE VERTEX TYPE B');
  await db.run('CREATE EDGE TYPE E');
  await db.run('CREATE PROPERTY A.key LONG');
  await db.run('CREATE INDEX ON A (key) NOTUNIQUE');
  await db.run('CREATE PROPERTY B.key LONG');
  await db.run('CREATE INDEX ON B (key) UNIQUE');
  return db;
}

function step(transaction: Transaction, model: Model, pick: (below: number) => number): void {
  const nodes = [...model.values()];
  const node = nodes[pick(nodes.length)];
  const kind = pick(10);
  const some = labelNames.filter(() => pick(4) === 0);
  if (node === undefined || kind < 3) {
    const key = pick(2 ** 31);
    const rid = insert(transaction, some, key);
    model.set(rid, { rid, labels: new Set(some), key });
  } else if (kind < 6) {
    const labels = some.length === 0 ? [longest] : some;
    setLabels(transaction, node.rid, { mode: 'add', labels });
    model.set(node.rid, { ...node, labels: new Set([...node.labels, ...labels]) });
  } else if (kind < 8) {
    const labels = some.length === 0 ? ['A'] : some;
    setLabels(transaction, node.rid, { mode: 'remove', labels });
    const left = [...node.labels].filter((label) => !labels.includes(label));
    model.set(node.rid, { ...node, labels: new Set(left) });
  } else if (kind === 8) {
    const key = pick(2 ** 31);
    transaction.update(node.rid, new Map([['key', key]]));
    model.set(node.rid, { ...node, key });
  } else {
    transaction.delete(node.rid);
    model.delete(node.rid);
  }
}

/** Events say of each node the type that its labels make, and of no other node anything. */
async function requireTold(
  db: TestDatabase,
  model: Model,
  told: ReadonlyMap<Rid, string>,
): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const { catalog } = db.database.state;
  const wanted = [...model.values()].map(({ rid, labels }): [Rid, string | undefined] => [
    rid,
    typeOfLabels(catalog, [...labels])?.name,
  ]);
  assert.deepEqual(new Map(told), new Map(wanted));
}

/** `npm run labels` has 700, which are some 10,000 changes. */
const rounds = Number(process.env['LABEL_ROUNDS'] ?? 25);

test(`random label changes in ${rounds} transactions agree with a naive model`, async () => {
  const db = await open();
  // What subscribers were told last of each record.
  const told = new Map<Rid, string>();
  const leave = db.database.changes.subscribe({
    wants: () => true,
    lost: () => assert.fail('nothing is lost'),
    changed: ({ kind, record }) => {
      if (kind === 'delete') told.delete(record.rid);
      else told.set(record.rid, record.typeName);
    },
    pass: async () => {},
    ended: () => {},
  });
  try {
    let model: Model = new Map();
    for (let round = 0; round < rounds; round += 1) {
      const end = round % 5 === 4 ? 'rollback' : 'commit';
      let next = model;
      await transact(
        db,
        (transaction) => {
          const pick = random(round + 1);
          next = new Map(model);
          const length = 5 + pick(20);
          for (let at = 0; at < length; at += 1) {
            const before = new Map(next);
            const savepoint = transaction.savepoint();
            step(transaction, next, pick);
            if (pick(6) === 0) {
              savepoint.undo();
              next = before;
            } else savepoint.release();
          }
          compareIn(transaction, next);
        },
        end,
      );
      if (end === 'commit') model = next;
      if (round % 10 === 9) {
        await requireSound(db);
        await compare(db, model);
        if (round < rounds / 2) await requireTold(db, model, told);
      }
      if (round === Math.floor(rounds / 2)) {
        leave();
        await db.reopen();
        await compare(db, model);
      }
    }
    await db.run('REBUILD INDEX *');
    await compare(db, model);
    await requireSound(db);
  } finally {
    await db.close();
  }
});

test('SET and REMOVE of labels keep the node, in a session too', async () => {
  const db = await openTestDatabase();
  const cypher = (text: string, sessionId?: string) =>
    db.run(text, {}, sessionId === undefined ? {} : { sessionId }, 'cypher');
  try {
    await cypher('CREATE (:P {k: 1})-[:K]->(:P {k: 2})');
    const [before] = await cypher('MATCH (n:P {k: 1}) RETURN elementId(n) AS id');
    await cypher('MATCH (n:P {k: 1}) SET n:Q:`a~b`');
    assert.deepEqual(await cypher('MATCH (n:Q)-[:K]->(m) RETURN elementId(n) AS id, m.k AS k'), [
      { id: before?.['id'], k: 2 },
    ]);
    assert.deepEqual(await cypher('MATCH (n:P) WHERE n:Q RETURN count(*) AS n'), [{ n: 1 }]);
    await cypher('MATCH (n:P {k: 1}) REMOVE n:P');
    assert.deepEqual(await cypher('MATCH (n:P) RETURN n.k AS k'), [{ k: 2 }]);
    assert.deepEqual(await cypher('MATCH (n:`a~b`) RETURN n.k AS k'), [{ k: 1 }]);
    const session = db.database.begin(root, 'REPEATABLE_READ');
    await cypher('MATCH (n:P) SET n.seen = true', session);
    await cypher('MATCH (n:P) SET n:New', session);
    assert.deepEqual(await cypher('MATCH (n:New) RETURN n.k AS k, n.seen AS s', session), [
      { k: 2, s: true },
    ]);
    assert.deepEqual(await cypher('MATCH (n:New) RETURN n.k AS k'), []);
    await db.database.commit(root, session);
    assert.deepEqual(await cypher('MATCH (n:New) RETURN n.k AS k'), [{ k: 2 }]);
    await requireSound(db);
  } finally {
    await db.close();
  }
});

test('a label whose unique index refuses is refused, and nothing is changed', async () => {
  const db = await open();
  const cypher = (text: string) => db.run(text, {}, {}, 'cypher');
  try {
    await cypher('CREATE (:B {key: 1}), (:A {key: 1}), (:A {key: 2})');
    await assert.rejects(cypher('MATCH (n:A) SET n:B'), /Duplicated key \[1\]/);
    assert.deepEqual(await cypher('MATCH (n:B) RETURN count(*) AS n'), [{ n: 1 }]);
    await cypher('MATCH (n:A {key: 2}) SET n:B');
    assert.deepEqual(await cypher('MATCH (n:B) WHERE n.key = 2 RETURN count(*) AS n'), [{ n: 1 }]);
    const long = 'x'.repeat(256);
    await cypher(`MATCH (n:A {key: 1}) SET n:\`${long}\`:__proto__`);
    assert.deepEqual(await cypher(`MATCH (n:\`${long}\`:__proto__) RETURN n.key AS k`), [{ k: 1 }]);
  } finally {
    await db.close();
  }
});

test('DROP TYPE leaves the nodes that have other labels by now', async () => {
  const db = await openTestDatabase();
  const cypher = (text: string) => db.run(text, {}, {}, 'cypher');
  try {
    await cypher('CREATE (:P {k: 1}), (:P {k: 2})');
    await cypher('MATCH (n:P {k: 1}) SET n:Q REMOVE n:P');
    await db.run('DROP TYPE P UNSAFE');
    assert.deepEqual(await cypher('MATCH (n) RETURN labels(n) AS l, n.k AS k'), [
      { l: ['Q'], k: 1 },
    ]);
    await db.reopen();
    assert.deepEqual(await cypher('MATCH (n:Q) RETURN n.k AS k'), [{ k: 1 }]);
    await requireSound(db);
  } finally {
    await db.close();
  }
});
