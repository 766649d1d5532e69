import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findGroup,
  type FormationPort,
  type Hello,
  helloOf,
  identityIn,
} from '#cluster/consensus/formation.ts';
import type { Formation } from '#cluster/consensus/formation-vote.ts';
import type { ConsensusOptions } from '#cluster/consensus/worker-messages.ts';
import type { Identity } from '#cluster/log-store/raft-directory.ts';
import { VirtualRuntime } from '../../raft/databases/virtual-runtime.ts';
import { seeded } from '../../raft/support/random.ts';

// Empty servers of one list find each other over links that fail and processes that end: never do two groups form (ha.md 8.3).

type Random = (n: number) => number;

const bootstrapTimeoutMs = 3000;
const stepMs = 50;

interface Server {
  readonly id: string;
  readonly runtime: VirtualRuntime;
  readonly random: Random;
  identity: Identity;
  /** Of its process; one that ended takes no more part. */
  life: number;
  reports: string[];
}

interface Trial {
  readonly declared: readonly string[];
  readonly formsWithoutAbsent: boolean;
  readonly links: Set<string>;
  readonly servers: readonly Server[];
}

function trialOf(count: number, formsWithoutAbsent: boolean, random: Random): Trial {
  const declared = Array.from({ length: count }, (_, at) => `n${at}_1`);
  const servers = declared.map((id, at) => ({
    id,
    random,
    runtime: new VirtualRuntime(seeded(random(2 ** 30) + at)),
    identity: {
      peerId: id,
      storageId: `s-${id}`,
      clusterId: undefined,
      firstConf: undefined,
      admitted: false,
      format: 1,
    },
    life: 0,
    reports: [],
  }));
  return { declared, formsWithoutAbsent, links: new Set(), servers };
}

const linkOf = (from: string, to: string) => [from, to].sort().join(' ');

function connect({ declared, links }: Trial, isThere: (from: string, to: string) => boolean): void {
  links.clear();
  for (const from of declared)
    for (const to of declared) if (from < to && isThere(from, to)) links.add(linkOf(from, to));
}

function helloFrom({ id, identity }: Server): Hello {
  const build = { version: '1', features: [] };
  const options = { clusterName: 'c', self: id, build, canLead: true };
  return helloOf({ options, identity, lastIndex: 0, status: undefined });
}

/** The process of a server, until it belongs to a group. */
async function start(trial: Trial, server: Server): Promise<void> {
  server.life += 1;
  const { life, id, runtime } = server;
  const isClosed = () => server.life !== life;
  const pause = () => runtime.timers.sleep(1 + server.random(120));
  const port: FormationPort = {
    options: {
      self: id,
      declared: trial.declared.map((peer) => ({
        id: peer,
        address: peer,
        name: peer,
        priority: 0,
      })),
      bootstrapTimeoutMs,
      startMode: 'auto',
      formsWithoutAbsent: trial.formsWithoutAbsent,
      canLead: true,
    } as unknown as ConsensusOptions,
    runtime,
    store: {
      get identity() {
        return server.identity;
      },
      setIdentity: async (identity) => {
        await pause();
        if (!isClosed()) server.identity = identity;
      },
    },
    ask: async (member) => {
      const peer = trial.servers.find((one) => one.id === member.id);
      assert.ok(peer);
      await pause();
      if (!trial.links.has(linkOf(id, member.id)) || peer.life < 0) throw new Error('no answer');
      const hello = JSON.parse(JSON.stringify(helloFrom(peer))) as Hello;
      await pause();
      return hello;
    },
    report: (_, text) => void server.reports.push(text),
    isClosed,
  };
  const found = await findGroup(port);
  if (found.kind === 'closed' || isClosed()) return;
  await pause();
  if (isClosed()) return;
  server.identity = identityIn(found, server.identity);
}

/** It is gone, with what it had not written yet. */
function end(server: Server): void {
  server.life = -1 - Math.abs(server.life);
  server.runtime.end();
}

function begin(trial: Trial, server: Server): void {
  server.life = Math.abs(server.life);
  if (server.identity.clusterId === undefined) void start(trial, server);
}

async function pass(trial: Trial, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += stepMs) {
    for (const { runtime } of trial.servers) runtime.advance(stepMs);
    for (let turn = 0; turn < 6; turn += 1) await Promise.resolve();
  }
}

/** Groups with votes enough to elect a leader. */
function livingGroups({ servers }: Trial): readonly Formation[] {
  const groups = new Map<string, { formation: Formation; votes: number }>();
  for (const { id, identity } of servers) {
    const { clusterId, firstConf: conf, admitted } = identity;
    if (clusterId === undefined || conf === undefined || !admitted) continue;
    const group = groups.get(clusterId) ?? { formation: { clusterId, conf }, votes: 0 };
    if (conf.voters.some((voter) => voter.id === id)) group.votes += 1;
    groups.set(clusterId, group);
  }
  return [...groups.values()]
    .filter(({ formation: { conf }, votes }) => votes > conf.voters.length / 2)
    .map(({ formation }) => formation);
}

test('two majorities that do not see each other form one group: nobody belongs to both', async () => {
  const trial = trialOf(5, true, seeded(1));
  const [a = '', b = '', c = '', d = '', e = ''] = trial.declared;
  const seen = new Set([
    linkOf(a, c),
    linkOf(a, d),
    linkOf(c, d),
    linkOf(b, c),
    linkOf(b, e),
    linkOf(c, e),
  ]);
  connect(trial, (from, to) => seen.has(linkOf(from, to)));
  for (const server of trial.servers) begin(trial, server);
  await pass(trial, 20_000);
  assert.ok(livingGroups(trial).length <= 1, 'two groups have formed');
  connect(trial, () => true);
  await pass(trial, 20_000);
  const ids = new Set(trial.servers.map(({ identity }) => identity.clusterId));
  assert.deepEqual([ids.size, ids.has(undefined)], [1, false], 'and all find it');
});

test('servers that are to come later are left out on Kubernetes, and the others form without them', async () => {
  const trial = trialOf(5, true, seeded(2));
  connect(trial, () => true);
  const [one, two, three, four] = trial.servers;
  assert.ok(one && two && three && four);
  for (const server of trial.servers)
    if (server !== one && server !== two && server !== three) end(server);
  for (const server of [one, two, three]) begin(trial, server);
  await pass(trial, bootstrapTimeoutMs + 5000);
  const [group] = livingGroups(trial);
  assert.deepEqual(
    group?.conf.voters.map(({ id }) => id),
    [one.id, two.id, three.id],
  );
  assert.ok(one.reports.some((text) => text.includes(four.id)));
  begin(trial, four);
  await pass(trial, 3000);
  assert.deepEqual([four.identity.clusterId, four.identity.admitted], [group?.clusterId, false]);
});

test('one group at most, whatever links and processes do meanwhile, and one at the end', async () => {
  const seeds = Number(process.env['SEEDS'] ?? 60);
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = seeded(seed);
    const trial = trialOf(3 + random(3), random(3) > 0, random);
    connect(trial, () => random(2) === 0);
    for (const server of trial.servers) if (random(4) > 0) begin(trial, server);
    for (let round = 0; round < 12; round += 1) {
      await pass(trial, 200 + random(3000));
      assert.ok(livingGroups(trial).length <= 1, `seed ${seed}: two groups in round ${round}`);
      if (random(2) === 0) connect(trial, () => random(3) > 0);
      for (const server of trial.servers) {
        if (random(5) > 0) continue;
        if (server.life > 0) end(server);
        else begin(trial, server);
      }
    }
    connect(trial, () => true);
    for (const server of trial.servers) if (server.life <= 0) begin(trial, server);
    await pass(trial, 30_000);
    assert.equal(livingGroups(trial).length, 1, `seed ${seed}`);
    const ids = new Set(trial.servers.map(({ identity }) => identity.clusterId));
    assert.deepEqual(
      [ids.size, ids.has(undefined)],
      [1, false],
      `seed ${seed}: ${[...ids].join()}`,
    );
  }
});
