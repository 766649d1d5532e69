import { cpuSeconds, residentMegabytes } from '../child.ts';
import { generateLoad, requestBytes } from '../http-load.ts';
import { type Comparison, elapsedMs, median, requireEqual } from '../measure.ts';
import {
  type AgentServer,
  authorization,
  ProcessorCost,
  rpc,
  startAgentServer,
  toolOutcome,
} from './agent-server.ts';

const personCount = 20_000;
const passageCount = 50_000;
const dimensions = 64;
const windowMs = 600;
const toolsPath = '/api/v1/mcp';
const pointText = 'SELECT name, age FROM Person WHERE id = :id';

/** Tools of agents beside the same work over HTTP; lists; a search of three legs; what the doors add to a start. */
export async function benchTools(rounds: number): Promise<Comparison[]> {
  const agents = await startAgentServer();
  try {
    const { client } = agents;
    await client.server('create database agents');
    await loadPersons(agents);
    const rows = [await pointReads(agents, rounds)];
    for (let i = 0; i < 99; i += 1) await client.server(`create database other${i}`);
    rows.push(await lists(agents, rounds, 'tools/list'));
    rows.push(await lists(agents, rounds, 'resources/list'));
    return [...rows, ...(await hybridSearch(agents, rounds))];
  } finally {
    await agents.close();
  }
}

async function loadPersons({ client }: AgentServer): Promise<void> {
  await client.sql('agents', 'CREATE VERTEX TYPE Person');
  await client.sql('agents', 'CREATE PROPERTY Person.id INTEGER');
  await client.sql('agents', 'CREATE INDEX ON Person (id) UNIQUE');
  for (let at = 0; at < personCount; at += 1000) {
    const rows = Array.from({ length: 1000 }, (_, i) => ({
      id: at + i,
      name: `name ${at + i}`,
      age: i % 90,
    }));
    await client.sql('agents', 'INSERT INTO Person CONTENT :rows', { rows });
  }
}

/** The tool takes no parameters, so both sides carry the number in the text. */
async function pointReads(agents: AgentServer, rounds: number): Promise<Comparison> {
  const { port, child } = agents.server;
  const idOf = (n: number): number => (n * 7919) % personCount;
  const query = (n: number): Buffer => {
    const body = { language: 'sql', command: pointText.replace(':id', String(idOf(n))) };
    return requestBytes('POST', '/api/v1/query/agents', { authorization }, JSON.stringify(body));
  };
  const tool = (n: number): Buffer => {
    const given = {
      database: 'agents',
      language: 'sql',
      query: pointText.replace(':id', String(idOf(n))),
    };
    const body = rpc('tools/call', { name: 'query', arguments: given });
    return requestBytes('POST', toolsPath, { authorization }, body);
  };
  const answer = await agents.client.request('POST', '/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'query',
      arguments: { database: 'agents', language: 'sql', query: pointText.replace(':id', '7') },
    },
  });
  const { records } = toolOutcome(answer.body) as { records: unknown };
  requireEqual('a point read', records, await agents.client.sql('agents', pointText, { id: 7 }));
  const perCall = async (request: (n: number) => Buffer, durationMs = windowMs) => {
    const before = cpuSeconds(child.pid ?? 0);
    const load = await generateLoad({ port, connections: 8, durationMs, request });
    for (const [status, count] of load.statusCounts)
      if (status !== 200) throw new Error(`${count} answers with status ${status}`);
    const calls = [...load.statusCounts.values()].reduce((sum, count) => sum + count, 0);
    return ((cpuSeconds(child.pid ?? 0) - before) * 1e6) / calls;
  };
  await perCall(query, 4000);
  await perCall(tool, 4000);
  const pairs: { readonly query: number; readonly tool: number }[] = [];
  for (let at = 0; at < rounds * 3; at += 1)
    pairs.push(
      at % 2 === 0
        ? { query: await perCall(query), tool: await perCall(tool) }
        : { tool: await perCall(tool), query: await perCall(query) },
    );
  const ratio = median(pairs.map((pair) => pair.tool / pair.query));
  return {
    name: 'point read by a tool, 8 connections',
    medians: new Map([
      ['tools/call query', median(pairs.map(({ tool: us }) => us))],
      ['POST /query', median(pairs.map(({ query: us }) => us))],
    ]),
    unit: 'us of processor time a call',
    ratio,
    target: '<= 1.3',
    isReached: ratio <= 1.3,
    remarks: `median of ${pairs.length} pairs of windows of ${windowMs} ms`,
  };
}

async function lists(agents: AgentServer, rounds: number, method: string): Promise<Comparison> {
  const p50 = await latency(agents, rounds, rpc(method, {}));
  return limit(`${method}, 100 databases`, p50, 1);
}

/** 50,000 passages with words, a vector and edges to others. */
async function hybridSearch(agents: AgentServer, rounds: number): Promise<Comparison[]> {
  const { client } = agents;
  for (const text of [
    'CREATE VERTEX TYPE Passage',
    'CREATE PROPERTY Passage.words STRING',
    'CREATE PROPERTY Passage.dense ARRAY_OF_FLOATS',
    'CREATE PROPERTY Passage.id INTEGER',
    'CREATE INDEX ON Passage (id) UNIQUE',
    'CREATE EDGE TYPE NEXT',
  ])
    await client.sql('agents', text);
  const random = seeded();
  const centres = Array.from({ length: 50 }, () => vector(random, undefined));
  for (let at = 0; at < passageCount; at += 1000) {
    const rows = Array.from({ length: 1000 }, (_, i) => ({
      id: at + i,
      words: Array.from({ length: 30 }, () => `w${Math.floor(20_000 * random() ** 3)}`).join(' '),
      dense: vector(random, centres[(at + i) % centres.length]),
    }));
    await client.sql('agents', 'INSERT INTO Passage CONTENT :rows', { rows });
  }
  const link =
    'CREATE EDGE NEXT FROM (SELECT FROM Passage WHERE id >= :a AND id < :b) TO (SELECT FROM Passage WHERE id = :to)';
  for (let at = 0; at < passageCount; at += 500)
    await client.sql('agents', link, { a: at, b: at + 20, to: at + 250 });
  const fullTextMs = await elapsedMs(() =>
    client.sql('agents', 'CREATE INDEX ON Passage (words) FULL_TEXT'),
  );
  const vectorMs = await elapsedMs(() =>
    client.sql(
      'agents',
      `CREATE INDEX ON Passage (dense) LSM_VECTOR METADATA {"dimensions": ${dimensions}, "similarity": "COSINE"}`,
    ),
  );
  const body = (n: number): string =>
    rpc('tools/call', {
      name: 'hybrid_search',
      arguments: {
        database: 'agents',
        vectorIndexName: 'Passage[dense]',
        queryVector: vector(random, centres[n % centres.length]),
        k: 10,
        fulltextIndexName: 'Passage[words]',
        fulltextQuery: `w${100 + (n % 900)} w${1000 + (n % 3000)}`,
        expand: { edgeTypes: ['NEXT'], direction: 'both', maxDepth: 1 },
      },
    });
  const found = await client.request('POST', '/mcp', JSON.parse(body(1)));
  requireEqual('rows of a search', (toolOutcome(found.body) as { count: number }).count, 10);
  const cost = new ProcessorCost(agents);
  const p50 = await latency(agents, rounds, body, cost);
  return [
    {
      ...limit('hybrid_search, three legs, k 10, 50,000 records', p50, 15),
      remarks: `${cost.text} of processor time a search; indexes built in ${Math.round(fullTextMs)} and ${Math.round(vectorMs)} ms`,
    },
  ];
}

/** Median milliseconds of a request on one connection. */
async function latency(
  agents: AgentServer,
  rounds: number,
  body: string | ((n: number) => string),
  cost = new ProcessorCost(agents),
): Promise<number> {
  const bodyOf = typeof body === 'string' ? () => body : body;
  const { port } = agents.server;
  const run = async (durationMs: number) => {
    const load = await generateLoad({
      port,
      connections: 1,
      durationMs,
      request: (n) => requestBytes('POST', toolsPath, { authorization }, bodyOf(n)),
    });
    return load;
  };
  await run(2000);
  const figures: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    await cost.of(1000, async () => {
      const { p50Ms, requestsPerSecond } = await run(1000);
      figures.push(p50Ms);
      return requestsPerSecond;
    });
  return median(figures);
}

/** Milliseconds until `/ready` and resident megabytes, with both doors and without. */
export async function benchStart(rounds: number): Promise<Comparison[]> {
  const ms: Record<string, number[]> = { with: [], without: [] };
  const megabytes: Record<string, number[]> = { with: [], without: [] };
  for (let round = -1; round < Math.max(5, rounds); round += 1) {
    for (const name of round % 2 === 0 ? ['with', 'without'] : ['without', 'with']) {
      let agents: AgentServer | undefined;
      const elapsed = await elapsedMs(async () => {
        agents = await startAgentServer(name === 'with');
      });
      await new Promise((done) => setTimeout(done, 1500));
      const resident = residentMegabytes(agents?.server.child.pid ?? 0);
      await agents?.close();
      if (round < 0) continue;
      ms[name]?.push(elapsed);
      megabytes[name]?.push(resident);
    }
  }
  const added = (name: string, figures: Record<string, number[]>, target: number, unit: string) => {
    const withDoors = median(figures['with'] ?? []);
    const without = median(figures['without'] ?? []);
    const more = withDoors - without;
    return {
      name,
      medians: new Map([
        ['with', withDoors],
        ['without', without],
      ]),
      unit,
      ratio: more,
      target: `<= ${target} more`,
      isReached: more <= target,
      remarks: '',
    };
  };
  return [
    added('start with tools and wire', ms, 50, 'ms'),
    added('resident with tools and wire', megabytes, 10, 'MB'),
  ];
}

function limit(name: string, value: number, target: number): Comparison {
  return {
    name,
    medians: new Map([['polyad', value]]),
    unit: 'ms',
    ratio: value / target,
    target: `<= ${target} ms`,
    isReached: value <= target,
    remarks: '',
  };
}

function seeded(): () => number {
  let state = 7;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function vector(random: () => number, around: readonly number[] | undefined): number[] {
  return Array.from({ length: dimensions }, (_, i) =>
    Number(((around?.[i] ?? 0) + (random() - 0.5) * (around === undefined ? 2 : 0.5)).toFixed(3)),
  );
}
