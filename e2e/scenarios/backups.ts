import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { e2eSettings } from '../settings.ts';
import {
  backToThree,
  clusterIdOf,
  groupSeenBy,
  handLeadershipTo,
  leaderOf,
  mustBeConsistent,
  podsOf,
} from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { ask, serverCommand, sql } from '../steps/member.ts';
import {
  conditionOf,
  isReady,
  type KubernetesObject,
  type Manifest,
  type Namespace,
  reasonOf,
  valueAt,
} from '../steps/objects.ts';
import { volumePod } from '../steps/volume-pod.ts';

/*
 * `Backup`, `ScheduledBackup` and `Restore` on three members: archives on the volume of the leader, made and read while clients
 * write and while another member takes the lead.
 */

const archiveName = /^school-backup-\d{8}-\d{9}\.zip$/;
const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(1);

function manifest(kind: string, name: string, spec: object): Readonly<Record<string, unknown>> {
  return { apiVersion: 'polyad.io/v1alpha1', kind, metadata: { name }, spec };
}

const phaseOf = (object: KubernetesObject | undefined): unknown => valueAt(object, 'status.phase');

/** Waits until the run is over, well or not. */
async function over(namespace: Namespace, kind: string, name: string): Promise<KubernetesObject> {
  const isOver = (object: KubernetesObject | undefined): boolean =>
    ['Succeeded', 'Failed'].includes(String(phaseOf(object)));
  const found = await namespace.waitFor(kind, name, 'over', 'runOnce', isOver);
  if (found === undefined) throw new Error(`${kind} ${name} is gone`);
  return found;
}

async function succeeded(
  namespace: Namespace,
  kind: string,
  name: string,
): Promise<KubernetesObject> {
  const found = await over(namespace, kind, name);
  assert.equal(phaseOf(found), 'Succeeded', reasonOf(found, 'Ready'));
  return found;
}

const filesOf = (backup: KubernetesObject) =>
  (valueAt(backup, 'status.files') ?? []) as readonly { readonly database: string; name: string }[];

/** A Cluster of three with a database of some pupils. */
async function school({ namespace, cluster }: ScenarioContext, name: string): Promise<string> {
  await cluster(name, { replicas: 3 });
  const { pod } = await leaderOf(namespace, name);
  await serverCommand(namespace, pod, 'create database school');
  await sql(namespace, pod, 'school', 'CREATE DOCUMENT TYPE Pupil');
  for (const pupil of ['Ada', 'Emmy', 'Grace'])
    await sql(namespace, pod, 'school', `INSERT INTO Pupil SET name = '${pupil}'`);
  return pod;
}

async function pupilsIn(namespace: Namespace, pod: string, database: string): Promise<string> {
  const rows = await sql(namespace, pod, database, 'SELECT name FROM Pupil ORDER BY name');
  return rows.map((row) => String(row['name'])).join(' ');
}

/** On every member, which may be some entries behind for a moment, so the leader compares them first. */
async function mustHoldEverywhere(
  namespace: Namespace,
  { cluster, database, pupils }: Readonly<Record<'cluster' | 'database' | 'pupils', string>>,
): Promise<void> {
  await mustBeConsistent(namespace, cluster, database);
  for (const pod of podsOf(cluster)) assert.equal(await pupilsIn(namespace, pod, database), pupils);
}

/** The bucket of the run, and the Secret for it. */
function storage(): { readonly s3: object; readonly secret: Manifest } {
  const { bucket } = e2eSettings;
  if (bucket === undefined) throw new Error('E2E_S3 names no bucket');
  const name = 'storage';
  return {
    s3: {
      endpoint: bucket.origin,
      bucket: bucket.pathname.slice(1),
      prefix: `e2e/${Date.now()}`,
      credentialsSecret: name,
    },
    secret: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      stringData: {
        accessKeyId: decodeURIComponent(bucket.username),
        secretAccessKey: decodeURIComponent(bucket.password),
      },
    },
  };
}

const recordCount = 20_000;

/** A Cluster of three whose claims go with it, with a database of many books. */
async function library({ namespace, cluster }: ScenarioContext, name: string): Promise<void> {
  await cluster(name, { replicas: 3, deletionPolicy: 'Delete' });
  const { pod } = await leaderOf(namespace, name);
  await serverCommand(namespace, pod, 'create database library');
  await sql(namespace, pod, 'library', 'CREATE VERTEX TYPE Book');
  await sql(namespace, pod, 'library', 'CREATE PROPERTY Book.n LONG');
  await sql(namespace, pod, 'library', 'CREATE INDEX ON Book (n) UNIQUE');
  const rows =
    "UNWIND range(1, 5000) AS i CREATE (:Book {n: i + $from, title: 'Book ' + toString(i * 7919)})";
  for (let from = 0; from < recordCount; from += 5000) {
    const body = { language: 'cypher', command: rows, params: { from } };
    const { status, body: text } = await ask(namespace, pod, { path: '/command/library', body });
    assert.equal(status, 200, text);
  }
}

/** Of the content, whatever record ids it has. */
async function checksumOf(namespace: Namespace, pod: string): Promise<string> {
  const rows = await sql(namespace, pod, 'library', 'SELECT n, title FROM Book ORDER BY n');
  assert.equal(rows.length, recordCount);
  const content = rows.map(({ n, title }) => `${String(n)} ${String(title)}`).join('\n');
  return createHash('sha256').update(content).digest('hex');
}

/** A command on a volume that no member uses now. */
async function onVolume(
  { namespace, image }: ScenarioContext,
  claim: string,
  script: string,
): Promise<void> {
  await namespace.apply(volumePod('hand', { image, claim, command: ['sh', '-c', script] }));
  const isOver = (pod: KubernetesObject | undefined): boolean =>
    valueAt(pod, 'status.phase') === 'Succeeded';
  await namespace.waitFor('pod', 'hand', 'over', 'memberBack', isOver);
  await namespace.kubectl(['delete', 'pod', 'hand']);
}

const archives = '/home/service/backups/school';

/** Names of the archives of a member, the newest first. */
async function archivesOn(namespace: Namespace, pod: string): Promise<readonly string[]> {
  const words = ['exec', pod, '-c', 'server', '--', 'sh', '-c'];
  const listed = await namespace.kubectl([...words, `ls ${archives} 2>/dev/null || true`]);
  return listed
    .split('\n')
    .filter((name) => archiveName.test(name))
    .sort()
    .reverse();
}

async function untilArchives(
  namespace: Namespace,
  pod: string,
  isWanted: (names: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const deadline = performance.now() + budgetMs('deliveredFile');
  for (;;) {
    const names = await archivesOn(namespace, pod);
    if (isWanted(names)) return names;
    if (performance.now() > deadline) throw new Error(`${pod} has ${names.join(' ')}`);
    await pause(1_000);
  }
}

/**
 * Archives of earlier days and years, named as if the clock had been there. Of the newest one and these, two days and three years
 * keep: the later one of yesterday, and of each year before the last one.
 */
function staging(now: Date): Record<'staged' | 'expected', readonly string[]> {
  const nameAt = (date: Date): string => {
    const [day = '', time = ''] = date
      .toISOString()
      .replaceAll(/[-:.Z]/g, '')
      .split('T');
    return `school-backup-${day}-${time}.zip`;
  };
  const daysAgo = (days: number, hour: number): Date =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - days, hour));
  const inYear = (ago: number, day: number): Date =>
    new Date(Date.UTC(now.getUTCFullYear() - ago, 5, day, 12));
  const [early, late, before] = [daysAgo(1, 9), daysAgo(1, 10), daysAgo(2, 10)];
  const years = [inYear(1, 14), inYear(1, 15), inYear(2, 15), inYear(3, 15)];
  // On the first day of a year yesterday is the last archive of the year before.
  const isNewYear = late.getUTCFullYear() !== now.getUTCFullYear();
  const ofYears = [inYear(2, 15)];
  if (!isNewYear) ofYears.unshift(inYear(1, 15));
  return {
    staged: [early, late, before, ...years].map(nameAt),
    expected: [late, ...ofYears].map(nameAt),
  };
}

export const backupScenarios: readonly Scenario[] = [
  {
    id: 'B4',
    title:
      'a Stream backup in S3, the Cluster deleted with all claims, another one restored from it and grown to three: equal by checksum',
    level: 2,
    needs: ['S3 storage'],
    async run(context) {
      const { namespace, report, expectLostVolumes } = context;
      const { s3, secret } = storage();
      await library(context, 'burnt');
      const { pod } = await leaderOf(namespace, 'burnt');
      const before = await checksumOf(namespace, pod);
      const start = performance.now();
      const backup = { clusterRef: { name: 'burnt' }, method: 'Stream', destination: { s3 } };
      await namespace.apply(secret, manifest('Backup', 'offsite', { ...backup, verify: true }));
      const made = await succeeded(namespace, 'backups.polyad.io', 'offsite');
      const [file] = (valueAt(made, 'status.files') ?? []) as readonly { readonly bytes: number }[];
      report(`kept in ${secondsSince(start)} s, ${file?.bytes} bytes`);

      expectLostVolumes();
      await namespace.kubectl(['delete', 'pyd', 'burnt', '--wait=false']);
      await namespace.waitGone('pyd', 'burnt', 'deletion');
      for (const name of podsOf('burnt'))
        await namespace.waitGone('pvc', `data-${name}`, 'deletion');

      const restored = performance.now();
      const fromBackup = { backupRef: { name: 'offsite' } };
      await context.cluster('risen', { replicas: 1, bootstrap: { fromBackup } });
      report(`restored in ${secondsSince(restored)} s`);
      assert.equal(await checksumOf(namespace, 'risen-0'), before);
      const grown = performance.now();
      await namespace.kubectl(['scale', 'pyd', 'risen', '--replicas=3']);
      await namespace.waitFor('pyd', 'risen', 'Ready', 'scaled', isReady);
      report(`three in ${secondsSince(grown)} s`);
      await mustBeConsistent(namespace, 'risen', 'library');
      for (const name of podsOf('risen')) assert.equal(await checksumOf(namespace, name), before);
    },
  },
  {
    id: 'B1',
    title:
      'Backups of three members under load: two at once, one by a schedule; archives on the member that leads',
    level: 1,
    async run(context) {
      const { namespace, load, report } = context;
      await school(context, 'save');
      const clients = await load('save');
      const backup = (name: string) =>
        manifest('Backup', name, { clusterRef: { name: 'save' }, databases: ['school', 'load'] });
      const start = performance.now();
      await namespace.apply(backup('first'), backup('second'));
      const schedule = {
        schedule: '0 3 1 1 *',
        immediate: true,
        template: { clusterRef: { name: 'save' }, databases: ['school'] },
      };
      await namespace.apply(manifest('ScheduledBackup', 'often', schedule));
      for (const name of ['first', 'second']) {
        const done = await succeeded(namespace, 'backups.polyad.io', name);
        assert.deepEqual(
          filesOf(done)
            .map(({ database }) => database)
            .sort(),
          ['load', 'school'],
        );
        const file = filesOf(done).find(({ database }) => database === 'school')?.name ?? '';
        assert.match(file, archiveName);
        const { pod } = await leaderOf(namespace, 'save');
        assert.equal(valueAt(done, 'status.member'), pod);
        assert.ok((await serverCommand(namespace, pod, 'list backups school')).includes(file));
      }
      const made = await namespace.waitFor(
        'scheduledbackups.polyad.io',
        'often',
        'with a Backup',
        'runOnce',
        (object) => valueAt(object, 'status.lastBackup') !== undefined,
      );
      const last = String(valueAt(made, 'status.lastBackup'));
      const scheduled = await succeeded(namespace, 'backups.polyad.io', last);
      assert.match(JSON.stringify(scheduled.metadata), /"kind":"ScheduledBackup"/);
      assert.match(String(valueAt(made, 'status.nextScheduleTime')), /-01-01T03:00:00/);
      report(`three Backups in ${secondsSince(start)} s`);
      const columns = await namespace.kubectl(['get', 'pydb']);
      assert.match(columns, /first\s+.*Succeeded/);
      // Its Backup goes with the schedule; the archive stays.
      await namespace.kubectl(['delete', 'scheduledbackups.polyad.io', 'often']);
      await namespace.waitGone('backups.polyad.io', last, 'runOnce');
      mustHaveServed(context, await clients.stop());
    },
  },
  {
    id: 'B2',
    title:
      'archives by a schedule of the member that leads: of old ones those that the tiers keep stay, and another leader goes on with it',
    level: 2,
    async run(context) {
      const { namespace, report } = context;
      const pod = await school(context, 'keep');
      const { staged, expected } = staging(new Date());
      await serverCommand(namespace, pod, 'trigger backup school');
      const [byHand = ''] = await archivesOn(namespace, pod);
      assert.match(byHand, archiveName);
      for (const name of staged)
        await namespace.kubectl([
          ...['exec', pod, '-c', 'server', '--'],
          ...['cp', `${archives}/${byHand}`, `${archives}/${name}`],
        ]);
      const tiered = { hourly: 1, daily: 2, weekly: 0, monthly: 0, yearly: 3 };
      const schedule = { type: 'cron', expression: '*/20 * * * * *' };
      await namespace.patch('pyd', 'keep', {
        spec: { backup: { defaults: { schedule, retention: { tiered } } } },
      });
      const start = performance.now();
      const [newest, ...others] = await untilArchives(namespace, pod, ([newest, ...others]) => {
        return newest !== undefined && newest > byHand && others.length === expected.length;
      });
      report(`kept ${expected.length + 1} of ${staged.length + 2} after ${secondsSince(start)} s`);
      assert.deepEqual(others, expected);
      assert.match(newest ?? '', archiveName);

      const heir = podsOf('keep').find((name) => name !== pod) ?? '';
      assert.deepEqual(await archivesOn(namespace, heir), []);
      await handLeadershipTo(namespace, 'keep', heir);
      // One that had begun may still come to its end.
      await pause(3_000);
      const before = await archivesOn(namespace, pod);
      await untilArchives(namespace, heir, ([first]) => first !== undefined);
      const [first = ''] = await archivesOn(namespace, heir);
      await untilArchives(namespace, heir, ([second = '']) => second > first);
      assert.deepEqual(await archivesOn(namespace, pod), before);
      await namespace.waitFor(
        'pyd',
        'keep',
        'told of them',
        'runOnce',
        (object) => conditionOf(object, 'LastBackupSucceeded') === 'True',
      );
      assert.match(
        JSON.stringify(valueAt(await namespace.require('pyd', 'keep'), 'status.backups')),
        /school/,
      );
    },
  },
  {
    id: 'B6',
    title:
      'three volumes with the same databases and no log become a Cluster; of one that is older the databases are fetched',
    level: 2,
    async run(context) {
      const { namespace, report } = context;
      await school(context, 'stage');
      const spec = (change: object) => namespace.patch('pyd', 'stage', { spec: change });
      await spec({ hibernate: true });
      for (const pod of podsOf('stage')) await namespace.waitGone('pod', pod, 'hibernate');
      await onVolume(context, 'data-stage-2', 'cp -a /volume/databases /volume/older');
      await spec({ hibernate: false });
      await backToThree(namespace, 'stage');
      const { pod } = await leaderOf(namespace, 'stage');
      await sql(namespace, pod, 'school', "INSERT INTO Pupil SET name = 'Lise'");
      const pupils = 'Ada Emmy Grace Lise';
      await mustHoldEverywhere(namespace, { cluster: 'stage', database: 'school', pupils });
      const id = await clusterIdOf(namespace, 'stage');

      /** The Cluster goes, its volumes stay, with all but the log; and it is made of them. */
      const beginAnew = async (last: string): Promise<void> => {
        await namespace.kubectl(['delete', 'pyd', 'stage', '--wait=true', '--timeout=60s']);
        for (const pod of podsOf('stage')) await namespace.waitGone('pod', pod, 'deletion');
        const strip = 'rm -rf /volume/raft /volume/.polyad-volume.json';
        for (const claim of ['data-stage-0', 'data-stage-1']) await onVolume(context, claim, strip);
        await onVolume(context, 'data-stage-2', `${last}${strip}`);
        const start = performance.now();
        const bootstrap = { fromVolumes: { claims: 'Retained' } };
        await context.cluster('stage', { replicas: 3, bootstrap });
        await backToThree(namespace, 'stage');
        report(`three voters after ${secondsSince(start)} s`);
        await mustHoldEverywhere(namespace, { cluster: 'stage', database: 'school', pupils });
      };
      await beginAnew('');
      assert.notEqual(await clusterIdOf(namespace, 'stage'), id);
      await beginAnew('rm -rf /volume/databases; mv /volume/older /volume/databases; ');
    },
  },
  {
    id: 'B3',
    title:
      'a Restore on three members: under another name, refused over one that is there, in place of it, and by the member with the archives',
    level: 1,
    async run(context) {
      const { namespace, report } = context;
      const pod = await school(context, 'back');
      const clusterRef = { name: 'back' };
      const source = { backupRef: { name: 'before' } };
      await namespace.apply(
        manifest('Backup', 'before', { clusterRef, databases: ['school'] }),
        manifest('Restore', 'copy', {
          clusterRef,
          source,
          databases: [{ name: 'school', as: 'school2' }],
        }),
      );
      const holder = String(
        valueAt(await succeeded(namespace, 'backups.polyad.io', 'before'), 'status.member'),
      );
      const start = performance.now();
      await succeeded(namespace, 'restores.polyad.io', 'copy');
      report(`restored in ${secondsSince(start)} s`);
      const pupils = 'Ada Emmy Grace';
      await mustHoldEverywhere(namespace, { cluster: 'back', database: 'school2', pupils });

      await sql(namespace, pod, 'school', "UPDATE Pupil SET name = 'nobody'");
      await namespace.apply(manifest('Restore', 'refused', { clusterRef, source }));
      const refused = await over(namespace, 'restores.polyad.io', 'refused');
      assert.equal(phaseOf(refused), 'Failed');
      assert.match(JSON.stringify(valueAt(refused, 'status')), /school already/);
      assert.equal(await pupilsIn(namespace, pod, 'school'), 'nobody nobody nobody');

      // Another one leads: it has no archives, and says who has.
      const other = podsOf('back').find((name) => name !== holder) ?? '';
      await handLeadershipTo(namespace, 'back', other);
      assert.equal((await groupSeenBy(namespace, other))?.isLeader, true);
      const replace = { clusterRef, source, ifExists: 'Replace' };
      await namespace.apply(manifest('Restore', 'replaced', replace));
      const waits = (object: KubernetesObject | undefined): boolean =>
        JSON.stringify(valueAt(object, 'status.conditions') ?? '').includes(`make ${holder} lead`);
      await namespace.waitFor('restores.polyad.io', 'replaced', 'waiting', 'runOnce', waits);
      await handLeadershipTo(namespace, 'back', holder);
      const replaced = await succeeded(namespace, 'restores.polyad.io', 'replaced');
      assert.match(JSON.stringify(valueAt(replaced, 'status.databases')), /"before":"school-/);
      await mustHoldEverywhere(namespace, { cluster: 'back', database: 'school', pupils });
    },
  },
];
