import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSeconds } from '../child.ts';
import { median } from '../measure.ts';
import {
  freePort,
  HttpClient,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';

export const password = 'bench-password';
export const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

/** A server with the tools of agents enabled and the wire of plugin `redis` open. */
export interface AgentServer {
  readonly server: ServerProcess;
  readonly client: HttpClient;
  readonly wirePort: number;
  close(): Promise<void>;
}

/** @param doors false: neither tools nor wire */
export async function startAgentServer(doors = true): Promise<AgentServer> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const wirePort = await freePort();
  if (doors) {
    mkdirSync(join(rootPath, 'config'));
    const configuration = {
      enabled: true,
      allowReads: true,
      allowInsert: true,
      allowUpdate: true,
      allowedUsers: ['root'],
    };
    writeFileSync(join(rootPath, 'config/mcp-config.json'), JSON.stringify(configuration));
  }
  const settings = {
    'service.server.plugins': 'redis:redis',
    'service.redis.host': '127.0.0.1',
    'service.redis.port': String(wirePort),
  };
  const server = await startServer({
    rootPath,
    rootPassword: password,
    ...(doors ? { settings } : {}),
  });
  return {
    server,
    client: new HttpClient(server.port, 'root', password),
    wirePort,
    close: async () => {
      await server.kill();
      rmSync(rootPath, { recursive: true, force: true });
    },
  };
}

/**
 * What a request costs the server, whoever else has the processors: microseconds of processor time, the median of the runs.
 */
export class ProcessorCost {
  readonly #processId: number;
  readonly #figures: number[] = [];

  constructor({ server }: AgentServer) {
    this.#processId = server.child.pid ?? 0;
  }

  /** @param run gives requests a second. @returns the same */
  async of(durationMs: number, run: () => Promise<number>): Promise<number> {
    const before = cpuSeconds(this.#processId);
    const rate = await run();
    const seconds = cpuSeconds(this.#processId) - before;
    this.#figures.push((seconds * 1e6) / (rate * (durationMs / 1000)));
    return rate;
  }

  get text(): string {
    return `${median(this.#figures).toPrecision(3)} us`;
  }
}

/** `{databases: [...]}` and so on: the text of a tool's outcome, parsed. */
export function toolOutcome(body: unknown): unknown {
  const { result } = body as { result: { isError: boolean; content: { text: string }[] } };
  const text = result.content[0]?.text ?? '';
  if (result.isError) throw new Error(text);
  return JSON.parse(text);
}

export function rpc(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}
