import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  command,
  linearizable,
  makeSchool,
  password,
  repeated,
  rows,
  startProcesses,
  until,
} from './support.ts';

// Three real servers on this machine, used as people use them: over HTTP (ha.md 6, 7, 11; issue "three servers that people run").

test('three servers form, take writes anywhere, and read at three levels', async (context) => {
  const cluster = await startProcesses(context, 3, { 'server.plugins': 'prometheus' });
  const leader = await cluster.leader();
  const followers = cluster.servers.filter((server) => server !== leader);
  const [follower, other] = followers;
  assert.ok(follower && other);
  await makeSchool(cluster, follower);
  const insert = 'INSERT INTO Person SET number = 1';
  const written = await repeated(() => command(cluster, follower, insert));
  assert.equal(written.status, 200, JSON.stringify(written.body));
  const bookmark = Number(written.headers.get('x-service-commit-index'));
  assert.ok(bookmark > 0, "the leader's index comes back");
  for (const server of cluster.servers) {
    const after = { 'x-service-read-after': String(bookmark) };
    assert.equal((await rows(cluster, server, 'SELECT FROM Person', after)).length, 1);
    assert.equal((await rows(cluster, server, 'SELECT FROM Person', linearizable)).length, 1);
    const eventual = { 'x-service-read-consistency': 'eventual' };
    assert.equal((await command(cluster, server, 'SELECT FROM Person', eventual)).status, 200);
    const { body } = await cluster.ask(server, 'GET', 'cluster');
    const { peers, alerts } = body as {
      peers: { role: string }[];
      alerts: { id: string; severity: string }[];
    };
    assert.deepEqual(
      peers.map(({ role }) => role),
      ['LEADER', 'FOLLOWER', 'FOLLOWER'],
    );
    assert.deepEqual(
      alerts.filter(({ severity }) => severity === 'critical'),
      [],
    );
  }
  const ahead = { 'x-service-read-after': String(bookmark + 1_000_000) };
  assert.equal((await command(cluster, leader, 'SELECT FROM Person', ahead)).status, 400);
  const twice = await repeated(() => command(cluster, other, insert));
  assert.equal(twice.status, 409, 'the error of the leader comes back');
  await sessions(cluster, other, leader, follower);
  await loads(cluster, follower);
  await measures(leader, followers);
  assert.match(leader.output, /Elected leader in term \d+ \([23] votes\)/);
});

/** Samples of each family of ha.md 15 that is not of errors, on the leader; those of every server on a follower, too. */
async function measures(leader: Server, followers: readonly Server[]) {
  const families = [
    'term commit_index applied_index last_log_index is_leader leader_ready peers voters',
    'elections_total leader_changes_total stepdowns_total conflicts_total',
    'queue_transactions queue_bytes uncommitted_bytes log_state log_free_bytes',
    'quarantined_databases forward_seconds_count read_wait_seconds_count read_index_rounds_total',
    'log_fsync_seconds_count apply_seconds_count commit_wait_seconds_count',
    'group_commit_batch_size_count event_loop_delay_seconds_count',
  ].flatMap((line) => line.split(' '));
  const ofPeers =
    'follower_lag follower_rtt_seconds follower_status append_bytes_total append_rejected_total snapshot_bytes_total'.split(
      ' ',
    );
  const credentials = Buffer.from(`root:${password}`).toString('base64');
  for (const server of [leader, ...followers]) {
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}/prometheus`, {
      headers: { authorization: `Basic ${credentials}` },
    });
    const text = await answer.text();
    const names = server === leader ? [...families, ...ofPeers] : families;
    for (const name of names)
      assert.match(text, new RegExp(`^polyad_ha_${name}[ {]`, 'm'), `${name} of ${server.id}`);
    const flushed = /^polyad_ha_log_fsync_seconds_count (\d+)/m.exec(text)?.[1];
    assert.ok(Number(flushed) > 0, 'measured in the other thread');
    for (const peer of server === leader ? followers : []) {
      const sent = new RegExp(`^polyad_ha_append_bytes_total\\{peer="${peer.id}"\\} (\\d+)`, 'm');
      assert.ok(Number(sent.exec(text)?.[1]) > 0, `entries went to ${peer.id}`);
    }
  }
}

type Cluster = Awaited<ReturnType<typeof startProcesses>>;
type Server = Cluster['servers'][number];

async function sessions(cluster: Cluster, other: Server, leader: Server, follower: Server) {
  const begun = await cluster.ask(other, 'POST', 'begin/school');
  assert.equal(begun.status, 204, JSON.stringify(begun.body));
  const session = { 'service-session-id': begun.headers.get('service-session-id') ?? '' };
  await rows(cluster, follower, 'INSERT INTO Person SET number = 2', session);
  assert.equal((await rows(cluster, leader, 'SELECT FROM Person', session)).length, 2);
  assert.equal((await rows(cluster, leader, 'SELECT FROM Person')).length, 1, 'not committed yet');
  const committed = await cluster.ask(follower, 'POST', 'commit/school', undefined, session);
  assert.equal(committed.status, 204);
  const after = { 'x-service-read-after': committed.headers.get('x-service-commit-index') ?? '' };
  for (const server of cluster.servers)
    assert.equal((await rows(cluster, server, 'SELECT FROM Person', after)).length, 2);
}

async function loads(cluster: Cluster, follower: Server) {
  const lines = Array.from({ length: 5000 }, (_, at) =>
    JSON.stringify({ '@type': 'v', '@class': 'Person', '@id': `t${at}`, number: 1000 + at }),
  );
  const answer = await cluster.ask(follower, 'POST', 'batch/school', `${lines.join('\n')}\n`, {
    'content-type': 'application/x-ndjson',
    accept: 'application/x-ndjson',
  });
  assert.equal(answer.status, 200, String(answer.body));
  const last = JSON.parse(String(answer.body).trim().split('\n').at(-1) ?? '{}');
  assert.equal(last.summary?.verticesCreated, 5000, JSON.stringify(last));
  assert.ok(last.summary.commitIndex > 0);
  const after = { 'x-service-read-after': String(last.summary.commitIndex) };
  for (const server of cluster.servers) {
    const [row] = await rows(cluster, server, 'SELECT count(*) AS n FROM Person', after);
    assert.equal(row?.['n'], 5002);
  }
}

test('a killed leader loses nothing that was acknowledged, and comes back as a follower', async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const acknowledged = new Set<number>();
  let next = 0;
  let isOver = false;
  const writer = async (place: number) => {
    while (!isOver) {
      next += 1;
      const number = next;
      const at = cluster.servers[(place + number) % 3] as Server;
      const answer = await command(cluster, at, `INSERT INTO Person SET number = ${number}`).catch(
        () => undefined,
      );
      if (answer?.status === 200) void acknowledged.add(number);
    }
  };
  const writers = [0, 1, 2, 3].map(writer);
  for (let round = 0; round < 3; round += 1) {
    const before = acknowledged.size;
    await until('writes go on', async () => acknowledged.size > before + 50);
    const leader = await cluster.leader();
    await leader.kill();
    const atKill = acknowledged.size;
    await until('writes go on without it', async () => acknowledged.size > atKill + 20);
    await cluster.restart(leader.place);
  }
  isOver = true;
  await Promise.all(writers);
  for (const server of cluster.servers) {
    const found = await rows(cluster, server, 'SELECT number FROM Person LIMIT -1', linearizable);
    const numbers = new Set(found.map(({ number }) => Number(number)));
    const lost = [...acknowledged].filter((number) => !numbers.has(number));
    assert.deepEqual(lost, [], `${server.options.name} has all of ${acknowledged.size}`);
  }
});

test('a minority reads what it has and refuses the rest; everything is there after a restart of all', async (context) => {
  const cluster = await startProcesses(context, 3, {
    'ha.quorumTimeout': '800',
    'ha.forwardLeaderWaitTimeoutMs': '800',
  });
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await rows(cluster, leader, 'INSERT INTO Person SET number = 1');
  const [survivor, ...others] = cluster.servers;
  assert.ok(survivor);
  await until(
    'it has the row',
    async () => (await rows(cluster, survivor, 'SELECT FROM Person')).length === 1,
  );
  for (const server of others) await server.kill();
  const eventual = { 'x-service-read-consistency': 'eventual' };
  await until('it knows that it is alone', async () => {
    const { status } = await command(cluster, survivor, 'INSERT INTO Person SET number = 2');
    return status === 503 || status === 504 || status === 500;
  });
  assert.equal((await rows(cluster, survivor, 'SELECT FROM Person', eventual)).length, 1);
  assert.equal((await command(cluster, survivor, 'SELECT FROM Person', linearizable)).status, 503);
  await survivor.kill();
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
  await Promise.all(cluster.servers.map((server) => server.ready(60_000)));
  for (const server of cluster.servers) {
    const numbers = (await rows(cluster, server, 'SELECT number FROM Person', linearizable)).map(
      ({ number }) => number,
    );
    assert.ok(numbers.includes(1));
  }
});
