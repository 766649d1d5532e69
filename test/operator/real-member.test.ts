import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import { guardVolume } from '../../operator/guard/guard.ts';
import { systemRuntime } from '../../operator/kubernetes/system-runtime.ts';
import { holds } from '../../operator/reconcile/same-content.ts';
import { DatabaseClient, MemberError } from '../../operator/observe/database-client.ts';
import type { Member } from '../../operator/observe/database-client.ts';
import { MemberHttp } from '../../operator/observe/member-http.ts';
import { directories, podTemplate } from '../../operator/resources/pod-template.ts';
import { serviceJson } from '../../operator/resources/managed-files.ts';

/*
 * The border between the operator and the server, with the real server: it starts with exactly the variables of the pod
 * template, on a volume that the guard has prepared, and answers what the operator asks. Only directories and port differ.
 */

const password = 'the-first-password';

interface Running {
  readonly member: Member;
  readonly databases: DatabaseClient;
  readonly child: ChildProcess;
  readonly root: string;
}

const cluster: ClusterObject = {
  apiVersion: 'polyad.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'orders', namespace: 'shop', uid: 'cluster-1' },
  spec: { replicas: 1, settings: { 'service.server.httpQueryDefaultLimit': '123' } },
};

function containerEnvironment(): readonly { readonly name: string; readonly value?: string }[] {
  const { spec } = parseSpec(cluster);
  if (spec === undefined) throw new Error('the spec is not valid');
  const template = podTemplate({
    cluster,
    spec,
    image: 'polyad:1',
    restartHash: 'x',
    isReplicated: false,
  });
  const { containers } = template['spec'] as unknown as {
    readonly containers: readonly { readonly env: readonly { name: string; value?: string }[] }[];
  };
  return containers[0]?.env ?? [];
}

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

async function startMember(): Promise<Running> {
  const root = mkdtempSync(join(tmpdir(), 'polyad-member-'));
  const at = (name: string) => join(root, name);
  for (const name of ['home', 'files', 'members']) mkdirSync(at(name));
  const { spec } = parseSpec(cluster);
  if (spec !== undefined) writeFileSync(at('files/service.json'), serviceJson(spec, undefined));
  writeFileSync(at('members/members.json'), '{"clusterId":"a","initialised":false,"members":{}}');
  writeFileSync(at('rootPassword'), `${password}\n`);
  const verdict = await guardVolume({
    volume: at('home'),
    managedFiles: at('files'),
    members: at('members'),
    podName: 'orders-0',
  });
  assert.equal(verdict.mayStart, true, verdict.message);
  const port = await freePort();
  const here = (value: string) =>
    value.replace(directories.rootPassword, root).replace(directories.home, at('home'));
  const env: Record<string, string> = { PATH: process.env['PATH'] ?? '' };
  for (const { name, value } of containerEnvironment()) env[name] = here(value ?? 'orders-0');
  env['SERVICE_SERVER_HTTP_INCOMING_PORT'] = String(port);
  env['SERVICE_SERVER_HTTP_INCOMING_HOST'] = '127.0.0.1';
  env['SERVICE_SERVER_MODE'] = 'production';
  const child = spawn(process.execPath, [resolve(import.meta.dirname, '../../server/main.ts')], {
    env,
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const databases = new DatabaseClient(new MemberHttp(systemRuntime.timers), systemRuntime);
  const member = { address: { host: '127.0.0.1', port }, incarnation: 'one' };
  for (let attempt = 0; attempt < 6000; attempt++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    if ((await databases.isReady(member)) === true) break;
    await systemRuntime.timers.sleep(50);
  }
  return { member, databases, child, root };
}

async function stopMember({ child, root }: Running): Promise<number | null> {
  const ended = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  child.kill('SIGTERM');
  const code = await ended;
  rmSync(root, { recursive: true });
  return code;
}

test('the server starts with what the operator gives it and answers what the operator asks', async () => {
  const running = await startMember();
  const { databases, member } = running;
  try {
    assert.equal(await databases.isReady(member), true);
    const { version, settings } = await databases.info(member, password);
    assert.match(version ?? '', /^\d+\.\d+\.\d+/);
    assert.equal(settings.get('service.server.name')?.value, 'orders-0');
    assert.equal(settings.get('service.server.httpQueryDefaultLimit')?.value, '123');
    assert.equal(settings.get('service.server.httpQueryDefaultLimit')?.default, '20000');

    await databases.setSetting(member, password, 'service.server.httpQueryDefaultLimit', '77');
    const changed = await databases.info(member, password);
    assert.equal(changed.settings.get('service.server.httpQueryDefaultLimit')?.value, '77');
    await assert.rejects(
      databases.setSetting(member, password, 'service.server.httpQueryDefaultLimit', 'many'),
      (error) => error instanceof MemberError && error.status >= 400 && error.status < 500,
    );

    assert.deepEqual(await databases.backupConfig(member, password), { config: null });
    const schedules = { version: 1, enabled: true, defaults: { retention: { maxFiles: 3 } } };
    await databases.setBackupConfig(member, password, JSON.stringify(schedules));
    const kept = await databases.backupConfig(member, password);
    assert.equal(holds(kept === 'unsupported' ? null : kept.config, schedules), true);
    await databases.backUpAll(member, password, 0);
    await databases.command(member, password, { command: 'create database large' });
    // Without replication there is nothing to compare with, which is said; what is too large is not asked about.
    await assert.rejects(
      databases.verifyAll(member, password, Number.POSITIVE_INFINITY),
      (error) => {
        return error instanceof MemberError && error.status === 400;
      },
    );
    await databases.verifyAll(member, password, 0);

    const next = 'the-second-password';
    assert.equal(await databases.accepts(member, next), false);
    await databases.changeRootPassword(member, password, next);
    assert.equal(await databases.accepts(member, next), true);
    assert.match((await databases.info(member, next)).version ?? '', /./);
    const later = new DatabaseClient(new MemberHttp(systemRuntime.timers), systemRuntime);
    assert.equal(await later.accepts(member, password), false);
  } finally {
    assert.equal(await stopMember(running), 0);
  }
});

test('archives are made, listed, restored and deleted as Backups and Restores ask for them', async () => {
  const running = await startMember();
  const { databases, member } = running;
  try {
    await databases.command(member, password, { command: 'create database orders' });
    assert.deepEqual(await databases.databaseNames(member, password), ['orders']);
    const before = systemRuntime.clock.now();
    const made = await databases.triggerBackup(member, password, 'orders');
    const [archive, ...others] = await databases.archives(member, password, 'orders');
    assert.deepEqual([archive?.fileName, others], [made, []]);
    assert.ok((archive?.bytes ?? 0) > 0);
    assert.ok(Math.abs((archive?.takenAtMs ?? 0) - before) < 60_000, 'the moment, in UTC');

    const about = { database: 'orders', fileName: made, as: 'copy', overwrites: false };
    await databases.restoreArchive(member, password, about);
    const isRefused = (status: number) => (error: unknown) =>
      error instanceof MemberError && error.status === status;
    await assert.rejects(databases.restoreArchive(member, password, about), isRefused(400));
    await databases.restoreArchive(member, password, { ...about, overwrites: true });
    await assert.rejects(
      databases.restoreUrl(member, password, { url: 'file:///nowhere.zip', as: 'other' }),
      MemberError,
    );
    const names = await databases.databaseNames(member, password);
    assert.deepEqual([...names].sort(), ['copy', 'orders']);

    const file = { database: 'orders', name: made };
    await databases.deleteArchive(member, password, file);
    assert.deepEqual(await databases.archives(member, password, 'orders'), []);
    // One that is gone is as good as deleted.
    await databases.deleteArchive(member, password, file);
  } finally {
    assert.equal(await stopMember(running), 0);
  }
});

test('a member that is not there is unknown, not down', async () => {
  const databases = new DatabaseClient(new MemberHttp(systemRuntime.timers), systemRuntime);
  const member = { address: { host: '127.0.0.1', port: await freePort() }, incarnation: 'none' };
  assert.equal(await databases.isReady(member), undefined);
  await assert.rejects(databases.info(member, password), /does not answer/);
});
