import { flushCount } from '../child.ts';
import { generateLoad, requestBytes } from '../http-load.ts';
import { alternate, type Comparison, median } from '../measure.ts';
import {
  type AgentServer,
  authorization,
  password,
  ProcessorCost,
  startAgentServer,
} from './agent-server.ts';
import { generateWireLoad } from './wire-load.ts';

const recordCount = 20_000;
const durationMs = 1500;
const warmUpMs = 4000;
const login = [
  ['AUTH', 'root', password],
  ['SELECT', 'wire'],
] as const;

/** The wire of plugin `redis`: transient keys against limits, records beside the same over HTTP. */
export async function benchWire(rounds: number): Promise<Comparison[]> {
  const agents = await startAgentServer();
  try {
    const { client } = agents;
    await client.server('create database wire');
    for (const text of [
      'CREATE DOCUMENT TYPE Item',
      'CREATE PROPERTY Item.id INTEGER',
      'CREATE INDEX ON Item (id) UNIQUE',
      'CREATE DOCUMENT TYPE Note',
    ])
      await client.sql('wire', text);
    for (let at = 0; at < recordCount; at += 1000) {
      const rows = Array.from({ length: 1000 }, (_, i) => ({ id: at + i, name: `name ${at + i}` }));
      await client.sql('wire', 'INSERT INTO Item CONTENT :rows', { rows });
    }
    return [
      ...(await keys(agents, 1, 50_000, rounds)),
      ...(await keys(agents, 16, 250_000, rounds)),
      await recordReads(agents, rounds),
      ...(await recordWrites(agents, rounds)),
    ];
  } finally {
    await agents.close();
  }
}

async function keys(
  agents: AgentServer,
  pipeline: number,
  target: number,
  rounds: number,
): Promise<Comparison[]> {
  const run = (command: (n: number) => readonly string[], forMs = durationMs) =>
    generateWireLoad({
      port: agents.wirePort,
      connections: 50,
      pipeline,
      durationMs: forMs,
      greeting: login,
      command,
    });
  const get = (): readonly string[] => ['GET', 'key:42'];
  const set = (): readonly string[] => ['SET', 'key:42', 'xxx'];
  const increment = (): readonly string[] => ['INCR', 'counter'];
  await run(set, warmUpMs / 2);
  await run(get, warmUpMs);
  const cost = new ProcessorCost(agents);
  const medians = await alternate(
    {
      GET: () => cost.of(durationMs, () => run(get)),
      SET: () => run(set),
      INCR: () => run(increment),
    },
    rounds,
  );
  const rate = (name: string): number => medians.get(name) ?? Number.NaN;
  const name = `wire, 50 clients, pipeline ${pipeline}`;
  const beside = (other: string): Comparison => {
    const ratio = rate(other) / rate('GET');
    return {
      name: `${name}: ${other} beside GET`,
      medians,
      unit: 'replies/s',
      ratio,
      target: '>= 0.9',
      isReached: ratio >= 0.9,
      remarks: '',
    };
  };
  return [
    {
      name: `${name}: GET`,
      medians,
      unit: 'replies/s',
      ratio: rate('GET') / target,
      target: `>= ${target}/s`,
      isReached: rate('GET') >= target,
      remarks: `${cost.text} of processor time a reply; load and server on the same processors`,
    },
    beside('SET'),
    beside('INCR'),
  ];
}

async function recordReads(agents: AgentServer, rounds: number): Promise<Comparison> {
  const idOf = (n: number): number => (n * 7919) % recordCount;
  const wire = (forMs = durationMs) =>
    generateWireLoad({
      port: agents.wirePort,
      connections: 8,
      pipeline: 1,
      durationMs: forMs,
      greeting: login,
      command: (n) => ['HGET', 'Item[id]', String(idOf(n))],
    });
  const http = async (forMs = durationMs) => {
    const load = await generateLoad({
      port: agents.server.port,
      connections: 8,
      durationMs: forMs,
      request: (n) => {
        const command = 'SELECT FROM Item WHERE id = :id';
        const body = { language: 'sql', command, params: { id: idOf(n) } };
        return requestBytes('POST', '/api/v1/query/wire', { authorization }, JSON.stringify(body));
      },
    });
    return load.requestsPerSecond;
  };
  await wire(warmUpMs);
  await http(warmUpMs);
  const [wireCost, httpCost] = [new ProcessorCost(agents), new ProcessorCost(agents)];
  const medians = await alternate(
    {
      HGET: () => wireCost.of(durationMs, () => wire()),
      'POST /query': () => httpCost.of(durationMs, () => http()),
    },
    rounds,
  );
  return {
    ...paired('wire HGET by unique key, 8 connections', medians, 1.5),
    remarks: `processor time of the server: HGET ${wireCost.text}, POST /query ${httpCost.text}`,
  };
}

async function recordWrites(agents: AgentServer, rounds: number): Promise<Comparison[]> {
  const flushes: Record<string, number[]> = { HSET: [], 'POST /command': [] };
  const counted = async (name: string, run: () => Promise<number>): Promise<number> => {
    const before = await flushCount(agents.client);
    const rate = await run();
    flushes[name]?.push(
      ((await flushCount(agents.client)) - before) / (rate * (durationMs / 1000)),
    );
    return rate;
  };
  const wire = () =>
    generateWireLoad({
      port: agents.wirePort,
      connections: 16,
      pipeline: 1,
      durationMs,
      greeting: login,
      command: (n) => ['HSET', 'Note', `{"n":${n}}`],
    });
  const http = async () => {
    const load = await generateLoad({
      port: agents.server.port,
      connections: 16,
      durationMs,
      request: (n) => {
        const body = {
          language: 'sql',
          command: 'INSERT INTO Note SET n = :n',
          params: { n },
        };
        const text = JSON.stringify(body);
        return requestBytes('POST', '/api/v1/command/wire', { authorization }, text);
      },
    });
    return load.requestsPerSecond;
  };
  await wire();
  await http();
  const medians = await alternate(
    { HSET: () => counted('HSET', wire), 'POST /command': () => counted('POST /command', http) },
    rounds,
  );
  const perCommit = new Map(Object.entries(flushes).map(([name, list]) => [name, median(list)]));
  const ratio = (perCommit.get('HSET') ?? Number.NaN) / (perCommit.get('POST /command') ?? 1);
  return [
    paired('wire HSET, 16 connections, durable', medians, 1),
    {
      name: 'flushes a commit of the same',
      medians: perCommit,
      unit: 'flushes a commit',
      ratio,
      target: '<= 1.1',
      isReached: ratio <= 1.1,
      remarks: '',
    },
  ];
}

function paired(name: string, medians: ReadonlyMap<string, number>, target: number): Comparison {
  const [ours = Number.NaN, theirs = Number.NaN] = [...medians.values()];
  const ratio = ours / theirs;
  return {
    name,
    medians,
    unit: 'requests/s',
    ratio,
    target: `>= ${target}`,
    isReached: ratio >= target,
    remarks: '',
  };
}
