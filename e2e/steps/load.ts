import assert from 'node:assert/strict';
import { sql } from './member.ts';
import { type KubernetesObject, type Namespace, valueAt } from './objects.ts';

/*
 * Clients that write and read all the time through the Service of a Cluster, from a pod of their own. Every acknowledged write
 * is in the pod's log; at the end each must be stored exactly once.
 */

const program = `
const fs = require('node:fs');
const [, host, writers] = process.argv;
const password = fs.readFileSync('/secret/password', 'utf8').trim();
const headers = { authorization: 'Basic ' + Buffer.from('root:' + password).toString('base64'), 'content-type': 'application/json' };
const post = async (path, body) => {
  const answer = await fetch('http://' + host + ':2480/api/v1' + path, { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(10000) });
  const text = await answer.text();
  if (answer.status !== 200) throw Object.assign(new Error(text.slice(0, 200)), { status: answer.status });
  return JSON.parse(text);
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const isOver = () => fs.existsSync('/tmp/stop');
const say = (event) => console.log(JSON.stringify({ at: Date.now(), ...event }));
let next = 0, seen = 0;
async function writer() {
  while (!isOver()) {
    const n = next++;
    try {
      await post('/command/load', { language: 'sql', command: 'INSERT INTO Entry SET n = :n', params: { n } });
      say({ acknowledged: n });
    } catch (error) { say({ failed: n, status: error.status ?? 0, message: String(error.cause?.code ?? error.message) }); await sleep(100); }
    await sleep(40);
  }
}
async function reader() {
  while (!isOver()) {
    try {
      const { result } = await post('/command/load', { language: 'sql', command: 'SELECT count(*) AS n FROM Entry' });
      if (result[0].n < seen) say({ vanished: seen - result[0].n });
      seen = Math.max(seen, result[0].n);
    } catch {}
    await sleep(200);
  }
}
(async () => {
  for (;;) {
    try {
      await post('/server', { command: 'create database load' }).catch((error) => { if (!/exists/i.test(error.message)) throw error; });
      await post('/command/load', { language: 'sql', command: 'CREATE DOCUMENT TYPE Entry IF NOT EXISTS' });
      await post('/command/load', { language: 'sql', command: 'CREATE PROPERTY Entry.n IF NOT EXISTS LONG' });
      await post('/command/load', { language: 'sql', command: 'CREATE INDEX IF NOT EXISTS ON Entry (n) UNIQUE' });
      break;
    } catch (error) { say({ waiting: String(error.cause?.code ?? error.message) }); await sleep(300); }
  }
  await Promise.all([...Array.from({ length: Number(writers) }, writer), reader()]);
  say({ over: true });
  setInterval(() => {}, 1000);
})();`;

export interface LoadReport {
  readonly acknowledged: number;
  readonly failed: number;
  /** Longest time between two acknowledged writes, in seconds. */
  readonly longestGapSeconds: number;
}

/** Starts the clients; resolves once writes are acknowledged. */
export async function startLoad(
  namespace: Namespace,
  options: { readonly cluster: string; readonly image: string; readonly rootSecret: string },
): Promise<Load> {
  const { cluster, image, rootSecret } = options;
  await namespace.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'clients' },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              podAffinityTerm: {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { 'app.kubernetes.io/instance': cluster } },
              },
            },
          ],
        },
      },
      containers: [
        {
          name: 'clients',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '--no-warnings', '-e', program, `${cluster}-http`, '4'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'secret', mountPath: '/secret', readOnly: true }],
        },
      ],
      volumes: [
        {
          name: 'secret',
          secret: { secretName: rootSecret, items: [{ key: 'rootPassword', path: 'password' }] },
        },
      ],
    },
  });
  const load = new Load(namespace, cluster);
  await namespace.waitFor('pod', 'clients', 'running', 'clusterReady', isRunning);
  await load.untilAcknowledged(1);
  return load;
}

function isRunning(pod: KubernetesObject | undefined): boolean {
  return valueAt(pod, 'status.phase') === 'Running';
}

export class Load {
  readonly #namespace: Namespace;
  readonly #cluster: string;

  constructor(namespace: Namespace, cluster: string) {
    this.#namespace = namespace;
    this.#cluster = cluster;
  }

  async #events(): Promise<readonly Readonly<Record<string, number | string | boolean>>[]> {
    const log = await this.#namespace.kubectl(['logs', 'clients']);
    return log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, number | string | boolean>);
  }

  /** Waits until the clients have had this many more writes acknowledged. */
  async untilAcknowledged(more: number): Promise<void> {
    const count = async (): Promise<number> =>
      (await this.#events()).filter((event) => 'acknowledged' in event).length;
    const wanted = (await count()) + more;
    const deadline = performance.now() + 90_000;
    while ((await count()) < wanted)
      if (performance.now() > deadline) throw new Error('the clients get no write acknowledged');
  }

  /** Stops the clients and checks that each acknowledged write is stored exactly once. */
  async stop(): Promise<LoadReport> {
    await this.#namespace.kubectl(['exec', 'clients', '--', 'touch', '/tmp/stop']);
    const deadline = performance.now() + 30_000;
    let events = await this.#events();
    while (!events.some((event) => event['over']) && performance.now() < deadline)
      events = await this.#events();
    const acknowledged = events.filter((event) => 'acknowledged' in event);
    const rows = await sql(
      this.#namespace,
      `${this.#cluster}-0`,
      'load',
      'SELECT n FROM Entry ORDER BY n',
    );
    const stored = new Map<unknown, number>();
    for (const { n } of rows) stored.set(n, (stored.get(n) ?? 0) + 1);
    const missing = acknowledged.filter((event) => stored.get(event['acknowledged']) !== 1);
    assert.deepEqual(
      missing.slice(0, 5),
      [],
      `${missing.length} acknowledged writes are not there once`,
    );
    const vanished = events.filter((event) => 'vanished' in event);
    assert.deepEqual(vanished.slice(0, 5), [], 'a reader saw records vanish');
    await this.#namespace.kubectl(['delete', 'pod', 'clients', '--wait=false']);
    return {
      acknowledged: acknowledged.length,
      failed: events.filter((event) => 'failed' in event).length,
      longestGapSeconds: longestGap(acknowledged.map((event) => Number(event['at']))),
    };
  }
}

function longestGap(times: readonly number[]): number {
  let longest = 0;
  for (let at = 1; at < times.length; at += 1)
    longest = Math.max(longest, ((times[at] ?? 0) - (times[at - 1] ?? 0)) / 1000);
  return longest;
}
