import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort, HttpClient, startServer } from '../support/server-process.ts';
import { agentCases, prepareAgents } from './agents.ts';
import { readCalls } from './calls.ts';
import { askCypher, cypherCases, loadGraph } from './cypher.ts';
import { Prober, type Stall } from './probe.ts';
import { loadRows, statements } from './statements.ts';
import { databaseName, loadValues } from './values.ts';

/*
 * npm run stall: the longest turns of the event loop that single calls and statements cause, on the largest values that limits
 * allow. `--type T,U` and `--only TEXT` choose expressions, `--calls FILE` others, `--above MS` prints the longer ones at once.
 * `--agents` tries the doors of agents and keys instead, `--cypher` statements of Cypher. `--seconds 1.5` repeats each for so long,
 * so that a 99th of a hundred answers of `/health` is one. `--held-by` says below each line which step of the work held the loop in its
 * longest turn without collections. `--times 4` asks each so often and shows the shortest of its longest turns but the first, and the
 * first: what a busy machine or code that is not compiled yet adds.
 */

const password = 'stall-password';
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    type: { type: 'string', default: '' },
    above: { type: 'string', default: '8' },
    profile: { type: 'string' },
    calls: { type: 'string' },
    statements: { type: 'boolean', default: false },
    agents: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '0' },
    cypher: { type: 'boolean', default: false },
    'held-by': { type: 'boolean', default: false },
    times: { type: 'string', default: '1' },
    out: { type: 'string' },
  },
});
const watchPort = await freePort();
const wirePort = await freePort();
const rootPath = mkdtempSync(join(tmpdir(), 'polyad-stall-'));
const server = await startServer({
  rootPath,
  rootPassword: password,
  nodeArguments: [
    '--import',
    join(import.meta.dirname, 'turn-watch.ts'),
    ...(options.profile === undefined
      ? []
      : ['--cpu-prof', '--cpu-prof-dir', options.profile, '--cpu-prof-interval', '500']),
  ],
  environment: {
    STALL_PORT: String(watchPort),
    ...(options['held-by'] && { STALL_HELD_BY: 'yes' }),
  },
  settings: {
    // Each statement is over or refused within seconds.
    ...(options.cypher && { 'service.command.timeout': '10000' }),
    ...(options.agents && {
      'service.server.plugins': 'redis:redis',
      'service.redis.host': '127.0.0.1',
      'service.redis.port': String(wirePort),
    }),
  },
});
const figureNames = [
  'turnMs',
  'turnWallMs',
  'ownMs',
  'collectionMs',
  'healthMedianMs',
  'healthP99Ms',
  'healthMs',
  'healthSlowCount',
  'healthCount',
  'totalMs',
] as const;

const stalls: Stall[] = [];
let health = '';
try {
  const wanted = (options.agents || options.cypher ? [] : [...readCalls(options.calls)])
    .filter(([type]) => options.type === '' || options.type.split(',').includes(type))
    .map(([type, texts]) => [type, texts.filter((text) => text.includes(options.only))] as const)
    .filter(([, texts]) => texts.length > 0);
  const client = new HttpClient(server.port, 'root', password);
  if (!options.agents && !options.cypher)
    await loadValues(client, (type) => wanted.some(([name]) => name === type));
  const prober = new Prober(server.port, watchPort);
  for (const [type, texts] of wanted) {
    for (const text of texts) {
      const isCondition = / (LIKE|ILIKE|MATCHES|IN|CONTAINS\w*|BETWEEN|=|<|<=>|IS) |^eval/.test(
        text,
      );
      const command = `SELECT ${isCondition ? `(${text})` : `((${text}) IS NULL)`} AS r FROM ${type}`;
      const stall = await prober.during(`${type}: ${text}`, () => ask(command));
      stalls.push(stall);
      if (stall.turnMs > Number(options.above)) process.stdout.write(`${lineOf(stall)}\n`);
    }
  }
  if (options.statements) {
    await loadRows(client, server.port, password);
    for (const { text, parameters } of statements) {
      if (!options.only.split('|').some((part) => text.includes(part))) continue;
      const body = parameters?.() ?? {};
      const stall = await prober.during(text, () => ask(text, body));
      stalls.push(stall);
      process.stdout.write(`${lineOf(stall)}\n`);
    }
  }
  if (options.agents) {
    const doors = { port: server.port, wirePort, password, client };
    await prepareAgents(doors);
    // Who makes and sends hundreds of megabytes must not take the processors of those who are measured.
    giveWay();
    for (const { name, run } of agentCases(doors)) {
      if (!name.includes(options.only)) continue;
      const stall = await prober.during(name, run, Number(options.seconds) * 1000);
      stalls.push(stall);
      if (stall.turnMs > Number(options.above)) process.stdout.write(`${lineOf(stall)}\n`);
    }
  }
  if (options.cypher) {
    await loadGraph(client);
    for (const statement of cypherCases) {
      if (!options.only.split('|').some((part) => statement.name.includes(part))) continue;
      const tried: Stall[] = [];
      for (let time = 0; time < Number(options.times); time += 1) {
        // Another text each time: it is compiled anew.
        const text = `${statement.text}${' '.repeat(time)}`;
        const name = `${statement.name}${time === 0 ? '' : ', again'}`;
        const ask = (): Promise<string> => askCypher(client, { ...statement, text });
        tried.push(await prober.during(name, ask));
      }
      const [first, ...again] = tried;
      again.sort((a, b) => a.ownMs - b.ownMs);
      for (const stall of [first, again[0]]) {
        if (stall === undefined) continue;
        stalls.push(stall);
        if (stall.turnMs > Number(options.above)) process.stdout.write(`${lineOf(stall)}\n`);
      }
    }
  }
  const shown = [0.5, 0.99, 0.999].map((share) => prober.healthMsAt(share).toFixed(1));
  health = `/health meanwhile: p50 ${shown[0]} ms, p99 ${shown[1]} ms, p99.9 ${shown[2]} ms of ${prober.healthCount} answers`;
  prober.end();
} finally {
  if (options.profile === undefined) await server.kill();
  else await server.stop();
  rmSync(rootPath, { recursive: true });
}

async function ask(
  command: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/command/${databaseName}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ language: 'sql', command, params }),
  });
  const text = await answer.text();
  if (answer.status === 200) return '200';
  const { detail, error } = JSON.parse(text) as { detail?: string; error?: string };
  return `${answer.status} ${String(detail ?? error).slice(0, 90)}`;
}

/** Lowest priority for each thread of this process, those of the platform too: on Linux a priority is that of one thread. */
function giveWay(): void {
  const isLinux = process.platform === 'linux';
  for (const thread of isLinux ? readdirSync('/proc/self/task') : ['0'])
    setPriority(Number(thread), 19);
}

function lineOf(stall: Stall): string {
  const figures = figureNames.map((name) => stall[name].toFixed(0).padStart(6));
  const heldBy = stall.heldBy === '' ? '' : `\n${' '.repeat(12)}held by ${stall.heldBy}`;
  return `${figures.join(' ')}  ${stall.name.slice(0, 80)}  ${stall.outcome}${heldBy}`;
}

stalls.sort((a, b) => b.turnMs - a.turnMs);
const head =
  '  turn   wall    own     gc    p50    p99    max   slow  count  total  (ms; own: longest turn without collections; p50 to count are of the answers of /health, slow: above 10 ms)';
const table = [head, ...stalls.map(lineOf)].join('\n');
if (options.out !== undefined) writeFileSync(options.out, `${table}\n`);
process.stdout.write(`\n${[head, ...stalls.slice(0, 40).map(lineOf)].join('\n')}\n`);
for (const ms of [200, 50, 20, 10]) {
  const [turns, own, healths] = [
    stalls.filter(({ turnMs }) => turnMs > ms).length,
    stalls.filter(({ ownMs }) => ownMs > ms).length,
    stalls.filter(({ healthP99Ms }) => healthP99Ms > ms).length,
  ];
  process.stdout.write(`above ${ms} ms: ${turns} turns (${own} own), p99 of ${healths}; `);
}
process.stdout.write(`of ${stalls.length}\n`);
process.stdout.write(`${health}\n`);
