import { Agent, request } from 'node:http';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { type Comparison, median, requireEqual } from '../measure.ts';
import { authorization, command, withServers } from './servers.ts';

const perRound = 400;
const warmUps = 1500;

interface Asked {
  readonly ms: number;
  readonly commitIndex: string;
  readonly text: string;
}

/** One connection to one server. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;

  constructor({ httpPort }: LocalServer) {
    this.#port = httpPort;
  }

  ask(text: string, headers: Readonly<Record<string, string>> = {}): Promise<Asked> {
    const body = JSON.stringify({ language: 'sql', command: text });
    const options = {
      port: this.#port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/api/v1/command/bench',
      agent: this.#agent,
      headers: {
        authorization,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
    };
    const start = performance.now();
    return new Promise((resolve, reject) => {
      const sent = request(options, (answer) => {
        let seen = '';
        answer.on('data', (piece) => {
          seen += String(piece);
        });
        answer.on('end', () => {
          const ms = performance.now() - start;
          if (answer.statusCode !== 200) reject(new Error(`${answer.statusCode} ${seen}`));
          const commitIndex = String(answer.headers['x-service-commit-index']);
          resolve({ ms, commitIndex, text: seen });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

const read = "SELECT FROM Counter WHERE name = 'c'";
const levels = {
  linearizable: () => ({ 'x-service-read-consistency': 'linearizable' }),
  bookmark: (index: string) => ({ 'x-service-read-after': index }),
  plain: () => ({ 'x-service-read-consistency': 'eventual' }),
};
type Level = keyof typeof levels;

/**
 * Point reads at a follower on one connection, each right after a write at the leader: with the bookmark of that write,
 * linearizable, and as they are there.
 */
export async function benchReads(rounds: number): Promise<Comparison[]> {
  return withServers({ count: 3 }, async (group) => {
    const leader = await group.leader();
    const follower = group.cluster.servers.find((server) => server !== leader) as LocalServer;
    await command(group.cluster, leader, 'CREATE DOCUMENT TYPE Counter');
    await command(group.cluster, leader, 'CREATE PROPERTY Counter.name STRING');
    await command(group.cluster, leader, 'CREATE INDEX ON Counter (name) UNIQUE');
    await command(group.cluster, leader, "INSERT INTO Counter SET name = 'c', value = 0");
    const still: Record<Level, number[]> = { plain: [], bookmark: [], linearizable: [] };
    const written: Record<Level, number[]> = { plain: [], bookmark: [], linearizable: [] };
    const clients = { at: new Client(follower), leader: new Client(leader) };
    await run(clients, warmUps, { still, written });
    for (const figures of [still, written])
      for (const all of Object.values(figures)) all.length = 0;
    for (let round = 0; round < rounds; round += 1)
      await run(clients, perRound, { still, written });
    clients.at.close();
    clients.leader.close();
    return [
      ...compared(
        'linearizable read at a follower, beside an eventual one',
        still,
        'linearizable',
        0.6,
      ),
      ...compared('read with the bookmark of a write before, the same', still, 'bookmark', 0.2),
      ...compared(
        'read with the bookmark of the write just answered',
        written,
        'bookmark',
        undefined,
      ),
      ...compared(
        'linearizable read after a write just answered',
        written,
        'linearizable',
        undefined,
      ),
    ];
  });
}

type Figures = Record<Level, number[]>;

async function run(
  { at, leader }: { readonly at: Client; readonly leader: Client },
  count: number,
  { still, written }: { readonly still: Figures; readonly written: Figures },
): Promise<void> {
  const update = "UPDATE Counter SET value = value + 1 WHERE name = 'c'";
  const names = Object.keys(levels) as Level[];
  let { commitIndex } = await leader.ask(update);
  await at.ask(read, levels.bookmark(commitIndex));
  for (let n = 0; n < count; n += 1)
    for (const level of n % 2 === 0 ? names : names.toReversed())
      still[level].push((await at.ask(read, levels[level](commitIndex))).ms);
  for (let n = 0; n < count; n += 1)
    for (const level of n % 2 === 0 ? names : names.toReversed()) {
      ({ commitIndex } = await leader.ask(update));
      const { ms, text } = await at.ask(read, levels[level](commitIndex));
      written[level].push(ms);
      if (level === 'plain') continue;
      const own = await leader.ask(read);
      requireEqual(`a read after its write, ${level}`, counterIn(text), counterIn(own.text));
    }
}

function counterIn(text: string): unknown {
  return (JSON.parse(text) as { result: { value: unknown }[] }).result[0]?.value;
}

function compared(
  name: string,
  figures: Figures,
  level: Level,
  targetMs: number | undefined,
): Comparison[] {
  const [ours, plain] = [median(figures[level]), median(figures.plain)];
  const more = ours - plain;
  return [
    {
      name,
      medians: new Map([
        [level, ours],
        ['eventual', plain],
      ]),
      unit: 'ms, p50',
      ratio: more,
      target: targetMs === undefined ? 'no target' : `<= +${targetMs}`,
      isReached: targetMs === undefined || more <= targetMs,
      remarks: `${figures[level].length} of each`,
    },
  ];
}
