import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { systemRuntime } from '#platform/system-runtime.ts';
import { Link } from './link.ts';
import { LocalServer } from './local-server.ts';

export interface LocalClusterOptions {
  readonly directory: string;
  readonly count: number;
  readonly rootPassword: string;
  /** Of every server. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Beside it, of one server, asked at each of its starts. */
  readonly environmentOf?: (place: number) => Readonly<Record<string, string>>;
  /** Without the links between servers, which can be cut: for measurements. */
  readonly isDirect?: boolean;
  /** The first ports to try; others are taken when these are not free. */
  readonly httpPort?: number;
  readonly raftPort?: number;
}

/** What `status` tells of a server. */
export interface ServerStatus {
  readonly place: number;
  readonly id: string;
  readonly address: string;
  readonly state: 'running' | 'paused' | 'down' | 'not answering';
  readonly role: string;
  readonly term: number | undefined;
  readonly commitIndex: number | undefined;
  readonly appliedIndex: number | undefined;
}

/** What each server replaces in addresses of others: `host:port` by `host:port`; read by `plan/`, for tests and trials only. */
export const dialMapVariable = 'POLYAD_DIAL_MAP';

/** Several servers on this machine as one cluster, with everything that can go wrong between them at hand. */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly servers: LocalServer[] = [];
  /** By `from>to`, for Raft and for HTTP. */
  readonly #links = new Map<string, Link[]>();
  #formed: readonly LocalServer[] = [];
  #nextPlace = 0;

  constructor(options: LocalClusterOptions) {
    this.#options = options;
  }

  /** Starts all and waits until they are ready. */
  async start(timeoutMs = 120_000): Promise<void> {
    for (let place = 0; place < this.#options.count; place += 1) await this.#reserve();
    this.#formed = [...this.servers];
    for (const from of this.servers) for (const to of this.servers) await this.#link(from, to);
    for (const [place, server] of this.servers.entries()) {
      await this.#launch(server);
      // It fills the cache of compiled code, from which the others start quickly.
      if (place === 0) await server.answers('health', timeoutMs);
    }
    await Promise.all(this.servers.map((server) => server.ready(timeoutMs)));
  }

  server(place: number): LocalServer {
    const found = this.servers.find((server) => server.place === place);
    if (found === undefined) throw new Error(`there is no server ${place}`);
    return found;
  }

  /** Starts a server that is down. */
  async restart(place: number, timeoutMs = 120_000): Promise<void> {
    const server = this.server(place);
    await this.#launch(server);
    await server.ready(timeoutMs);
  }

  /** One more server, told to the others by `POST /cluster/peer`. */
  async add(timeoutMs = 120_000): Promise<LocalServer> {
    const server = await this.#reserve();
    for (const other of this.servers) {
      await this.#link(server, other);
      if (other !== server) await this.#link(other, server);
    }
    // Those of the beginning may be gone.
    server.start({ ...this.#listOf(this.servers), 'ha.startMode': 'join' });
    const body = {
      peerId: server.id,
      address: `127.0.0.1:${server.options.raftPort}:${server.httpPort}`,
      name: server.options.name,
      timeoutMs,
    };
    try {
      await this.#join(server, body, timeoutMs);
    } catch (error) {
      // It is no member: whoever goes on with the others does not meet it.
      await server.kill();
      this.servers.splice(this.servers.indexOf(server), 1);
      throw error;
    }
    await server.ready(timeoutMs);
    return server;
  }

  /** Asks for it until there is a leader: 503 has changed nothing. */
  async #join(server: LocalServer, body: object, timeoutMs: number): Promise<void> {
    const { clock, timers } = systemRuntime;
    const untilMs = clock.monotonicMs() + timeoutMs;
    for (;;) {
      const asked = this.servers.find((other) => other !== server && other.isRunning);
      if (asked === undefined) throw new Error('nobody is there to join');
      const answer = await this.ask(asked, 'POST', 'cluster/peer', body);
      if (answer.status === 200) return;
      if (answer.status !== 503 || clock.monotonicMs() > untilMs)
        throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
      await timers.sleep(200);
    }
  }

  /** Takes a server out of the configuration and stops it. */
  async remove(place: number, timeoutMs = 120_000): Promise<void> {
    const server = this.server(place);
    await this.#leave(server, timeoutMs);
    await server.stop();
    this.servers.splice(this.servers.indexOf(server), 1);
  }

  /** Until it is clear: a change may have been made, or be made yet, although the answer does not say so. */
  async #leave(server: LocalServer, timeoutMs: number): Promise<void> {
    const { clock, timers } = systemRuntime;
    const untilMs = clock.monotonicMs() + timeoutMs;
    for (;;) {
      const asked = this.servers.find((other) => other !== server && other.isRunning);
      if (asked === undefined) throw new Error('nobody else is there');
      const answer = await this.ask(asked, 'DELETE', `cluster/peer/${server.id}`);
      if (answer.status === 200) return;
      const text = `${answer.status} ${JSON.stringify(answer.body)}`;
      const isOpen = answer.status === 504 || text.includes('MembershipChangeInProgress');
      if (!isOpen || clock.monotonicMs() > untilMs) throw new Error(text);
      await timers.sleep(200);
    }
  }

  /** Nothing gets through between the two, in both directions. */
  cut(one: number, other: number): void {
    for (const link of this.#between(one, other)) link.cut();
  }

  /** What the first one sends does not reach the second one; the other way all gets through. */
  cutOneWay(from: number, to: number): void {
    for (const link of this.#links.get(`${from}>${to}`) ?? []) link.cut('there');
    for (const link of this.#links.get(`${to}>${from}`) ?? []) link.cut('back');
  }

  /** What `to` answers by HTTP arrives at `from` so slowly, until it heals; Raft is as quick as before. */
  slowHttp(from: number, to: number, bytesPerSecond: number): void {
    this.#links.get(`${from}>${to}`)?.[1]?.slow(bytesPerSecond);
  }

  heal(): void {
    for (const links of this.#links.values()) for (const link of links) link.heal();
  }

  /** The server that leads; waits for an election. */
  async leader(timeoutMs = 30_000): Promise<LocalServer> {
    const { clock, timers } = systemRuntime;
    const untilMs = clock.monotonicMs() + timeoutMs;
    while (clock.monotonicMs() < untilMs) {
      for (const server of this.servers) {
        if (!server.isRunning || server.isPaused) continue;
        const { body } = await this.ask(server, 'GET', 'cluster').catch(() => ({ body: {} }));
        const { isLeader, leaderReady } = body as Record<string, unknown>;
        if (isLeader === true && leaderReady === true) return server;
      }
      await timers.sleep(50);
    }
    throw new Error('nobody leads');
  }

  async status(): Promise<readonly ServerStatus[]> {
    return Promise.all(
      this.servers.map(async (server) => {
        const about = {
          place: server.place,
          id: server.id,
          address: `http://127.0.0.1:${server.httpPort}`,
        };
        const unknown = {
          role: '-',
          term: undefined,
          commitIndex: undefined,
          appliedIndex: undefined,
        };
        if (!server.isRunning) return { ...about, state: 'down' as const, ...unknown };
        if (server.isPaused) return { ...about, state: 'paused' as const, ...unknown };
        try {
          const { body } = await this.ask(server, 'GET', 'cluster');
          const told = body as Record<string, unknown>;
          return {
            ...about,
            state: 'running' as const,
            role: told['isLeader'] === true ? 'LEADER' : 'FOLLOWER',
            term: told['currentTerm'] as number,
            commitIndex: told['commitIndex'] as number,
            appliedIndex: told['appliedIndex'] as number,
          };
        } catch {
          return { ...about, state: 'not answering' as const, ...unknown };
        }
      }),
    );
  }

  /** A request as root. */
  async ask(
    server: LocalServer,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: unknown; readonly headers: Headers }> {
    const credentials = Buffer.from(`root:${this.#options.rootPassword}`).toString('base64');
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Basic ${credentials}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type') === 'application/json' && text !== '';
    return {
      status: answer.status,
      body: isJson ? JSON.parse(text) : text,
      headers: answer.headers,
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    this.#closeLinks();
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    this.#closeLinks();
  }

  #closeLinks(): void {
    for (const links of this.#links.values()) for (const link of links) link.close();
  }

  async #launch(server: LocalServer): Promise<void> {
    for (const link of this.#linksTo(server.place)) await link.up();
    const list = this.#formed.includes(server) ? this.#formed : [...this.#formed, server];
    server.start(this.#listOf(list));
  }

  #listOf(servers: readonly LocalServer[]): Record<string, string> {
    const entries = servers.map(
      ({ options: { name, raftPort, httpPort } }) => `${name}@127.0.0.1:${raftPort}:${httpPort}`,
    );
    return { 'ha.serverList': entries.join(',') };
  }

  async #reserve(): Promise<LocalServer> {
    const { directory, rootPassword, settings, environment } = this.#options;
    // The directory of one that was removed is not that of the next one.
    const place = this.#nextPlace;
    this.#nextPlace += 1;
    const rootPath = join(directory, `server-${place}`);
    mkdirSync(rootPath, { recursive: true });
    const taken = this.#reserved();
    const httpPort = await freePort(
      (this.#options.httpPort ?? 0) + place,
      taken,
      this.#options.httpPort,
    );
    const raftPort = await freePort(
      (this.#options.raftPort ?? 0) + place,
      [...taken, httpPort],
      this.#options.raftPort,
    );
    const dialMap: Record<string, string> = {};
    const server = new LocalServer({
      place,
      name: `Service_${place}`,
      rootPath,
      httpPort,
      raftPort,
      onExit: () => {
        for (const link of this.#linksTo(place)) link.down();
      },
      settings: {
        'server.rootPassword': rootPassword,
        'server.readinessRequiresHA': 'true',
        'ha.raftPort': String(raftPort),
        ...settings,
      },
      environment: () => ({
        ...environment,
        ...this.#options.environmentOf?.(place),
        [dialMapVariable]: JSON.stringify(dialMap),
      }),
    });
    this.#dialMaps.set(server, dialMap);
    this.servers.push(server);
    return server;
  }

  /** Ports of servers and links, those that do not listen just now too. */
  #reserved(): number[] {
    return this.servers.flatMap((server) => [
      server.options.httpPort,
      server.options.raftPort,
      ...Object.values(this.#dialMaps.get(server) ?? {}).map((dialled) =>
        Number(dialled.slice(dialled.lastIndexOf(':') + 1)),
      ),
    ]);
  }

  readonly #dialMaps = new Map<LocalServer, Record<string, string>>();

  async #link(from: LocalServer, to: LocalServer): Promise<void> {
    if (from === to || this.#options.isDirect === true) return;
    const map = this.#dialMaps.get(from) ?? {};
    const links: Link[] = [];
    for (const port of [to.options.raftPort, to.options.httpPort]) {
      const linkPort = await freePort(0, this.#reserved(), undefined);
      const link = new Link(port, linkPort);
      await link.open();
      map[`127.0.0.1:${port}`] = `127.0.0.1:${linkPort}`;
      links.push(link);
    }
    this.#links.set(`${from.place}>${to.place}`, links);
  }

  #linksTo(place: number): readonly Link[] {
    return [...this.#links].flatMap(([key, links]) => (key.endsWith(`>${place}`) ? links : []));
  }

  #between(one: number, other: number): readonly Link[] {
    const both = [`${one}>${other}`, `${other}>${one}`].map((key) => this.#links.get(key));
    return both.flatMap((links) => links ?? []);
  }
}

/** Below the ports that systems give to connections: one that is found free may not be taken until the server listens. */
const [portMin, portCount] = [15_000, 15_000];

const portAttemptsMax = 100;

/** The port, or any when there is no base or it is taken. */
async function freePort(
  wanted: number,
  taken: readonly number[],
  base: number | undefined,
): Promise<number> {
  let port = base === undefined ? anyPort() : wanted;
  for (let attempt = 0; attempt < portAttemptsMax; attempt += 1) {
    const isFree = !taken.includes(port) && (await tryPort(port).catch(() => undefined));
    if (isFree) return port;
    port = anyPort();
  }
  throw new Error(`no free port in ${portAttemptsMax} attempts`);
}

function anyPort(): number {
  return portMin + (systemRuntime.random.uint32() % portCount);
}

async function tryPort(port: number): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(port, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise<void>((resolve) => {
    probe.close(() => resolve());
  });
  return typeof address === 'object' && address ? address.port : 0;
}
