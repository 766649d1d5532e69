import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { heapOptions, memoryVariables } from '#platform/container-memory.ts';
import { HttpClient, type ServerProcess, startServer } from '../support/server-process.ts';
import { limitMemory, ownMemoryBytes } from './memory-limit.ts';
import { databaseName, loadRows, rowCount } from './rows.ts';
import { type Killer, killers, strangers } from './killers.ts';
import { waves } from './waves.ts';

/*
 * npm run memory: statements that hold much, many at once, against a server in 512 MiB (limits.md 33). What passes the memory
 * of all statements is refused by a named limit; the server stays below the container's limit, lives, and has its memory back
 * afterwards. `waves` and `killers` are run by a server each; another word chooses by title.
 */

const MiB = 1024 * 1024;
const containerBytes = 512 * MiB;
const sampleMs = 20;
/** Beside the headers that are allowed: buffers, and what the collector has not looked at yet. */
const growthOfStrangersMax = 64 * MiB;

const failures: string[] = [];
let passed = 0;

function check(claim: string, holds: boolean): void {
  if (holds) passed += 1;
  else failures.push(claim);
  process.stdout.write(`${holds ? 'ok' : 'NOT OK'} ${claim}\n`);
}

class Peak {
  readonly #server: ServerProcess;
  readonly #timer: NodeJS.Timeout;
  bytes = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
    this.#timer = setInterval(() => {
      if (server.child.exitCode === null && server.child.signalCode === null) this.#sample();
    }, sampleMs);
  }

  #sample(): void {
    try {
      this.bytes = Math.max(this.bytes, ownMemoryBytes(this.#server.child.pid as number));
    } catch {
      // Gone between the check and the look; whoever waits for its answers says so.
    }
  }

  end(): number {
    clearInterval(this.#timer);
    return this.bytes;
  }
}

interface Outcome {
  readonly status: number;
  readonly text: string;
}

/** An answer that ends in the middle: what is refused behind the first bytes cannot be told in any other way. */
const cut = 'cut: queryMaxMemory was passed behind the first bytes, or the server is gone';

/** One statement; the answer is read and let go. */
async function ask(port: number, command: string, isAgain = false): Promise<Outcome> {
  let hasBegun = false;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/command/${databaseName}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from('root:memory-test').toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ language: 'sql', command, limit: -1 }),
    });
    hasBegun = true;
    let kept = '';
    let tail = '';
    for await (const chunk of answer.body ?? []) {
      const text = Buffer.from(chunk).toString('latin1');
      if (kept.length < 600) kept += text.slice(0, 600);
      tail = text.slice(-400);
    }
    return { status: answer.status, text: answer.status === 200 ? tail : kept };
  } catch (error) {
    if (hasBegun) return { status: 200, text: cut };
    // A kept connection may end just when it is used again.
    if (!isAgain) return ask(port, command, true);
    return { status: 0, text: String((error as Error).cause ?? error) };
  }
}

const nameOfLimit =
  /service\.(server\.)?queryMaxMemory|maxContainerMemory|queryMaxHeapElementsAllowedPerOp/;

/** Complete, or refused in the name of a limit. */
function isClean({ status, text }: Outcome): boolean {
  if (status === 200) return text.trimEnd().endsWith('}') || nameOfLimit.test(text);
  return (status === 503 || status === 413 || status === 400) && nameOfLimit.test(text);
}

async function runWave(server: ServerProcess, title: string, statements: readonly string[]) {
  const peak = new Peak(server);
  const start = performance.now();
  const outcomes = await Promise.all(statements.map((text) => ask(server.port, text)));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const bytes = peak.end();
  const whole = outcomes.filter(({ status, text }) => status === 200 && !nameOfLimit.test(text));
  check(
    `${title}: ${whole.length} answered, ${outcomes.length - whole.length} refused, peak ${Math.round(bytes / MiB)} MiB, ${seconds} s`,
    bytes > 0 && bytes < containerBytes && outcomes.every(isClean) && isAlive(server),
  );
  const unclean = outcomes.find((outcome) => !isClean(outcome));
  if (unclean) process.stdout.write(`  ${unclean.status} ${unclean.text.slice(-300)}\n`);
}

/** Everything is answered or refused, `/health` too meanwhile, and nothing ends the server. */
async function runKiller(
  server: ServerProcess,
  { title, run }: { readonly title: string; readonly run: Killer },
  growthMax = containerBytes,
) {
  const peak = new Peak(server);
  const beforeBytes = ownMemoryBytes(server.child.pid as number);
  const before = Math.round(beforeBytes / MiB);
  const start = performance.now();
  let isOver = false;
  const statuses = run(server.port).finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    const askedMs = performance.now();
    const health = await fetch(`http://127.0.0.1:${server.port}/api/v1/health`).catch(
      () => undefined,
    );
    if (health?.status === 204) slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    else slowestMs = Number.POSITIVE_INFINITY;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const counts = new Map<number, number>();
  for (const status of await statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const told = [...counts].map(([status, count]) => `${count} x ${status}`).join(', ');
  const bytes = peak.end();
  check(
    `${title}: ${told}, /health within ${Math.round(slowestMs)} ms, from ${before} to ${Math.round(bytes / MiB)} MiB, ${seconds} s`,
    bytes > 0 &&
      bytes < Math.min(containerBytes, beforeBytes + growthMax) &&
      Number.isFinite(slowestMs) &&
      isAlive(server),
  );
}

function isWanted(group: string, title: string): boolean {
  if (only === 'waves' || only === 'killers') return only === group;
  return only === undefined || title.includes(only);
}

function isAlive({ child }: ServerProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

const root = mkdtempSync(join(tmpdir(), 'polyad-memory-'));
const limit = limitMemory(containerBytes);
const only = process.argv[2];
const server = await startServer({
  rootPath: root,
  rootPassword: 'memory-test',
  launcher: limit.launcher,
  nodeArguments: heapOptions(containerBytes),
  environment: memoryVariables,
});
try {
  for (const killer of strangers)
    if (isWanted('killers', killer.title)) await runKiller(server, killer, growthOfStrangersMax);
  const client = new HttpClient(server.port, 'root', 'memory-test');
  await loadRows(client, server.port);
  process.stdout.write(
    `${rowCount} rows, ${Math.round(ownMemoryBytes(server.child.pid as number) / MiB)} MiB after the load, the limit is ${limit.isEnforced ? 'enforced' : 'watched'}\n`,
  );
  for (const { title, statements } of waves) {
    if (!isWanted('waves', title)) continue;
    if (isAlive(server)) await runWave(server, title, statements);
  }
  for (const killer of killers) {
    if (!isWanted('killers', killer.title)) continue;
    if (isAlive(server)) await runKiller(server, killer);
  }
  if (isAlive(server)) {
    const after = await ask(server.port, 'SELECT count(*) AS n FROM T');
    check('afterwards all rows are there', after.text.includes(`"n":${rowCount}`));
    if (only !== 'killers') {
      const alone = await ask(server.port, 'SELECT * FROM T ORDER BY x');
      check(
        'afterwards one has all the memory again',
        alone.status === 200 && !nameOfLimit.test(alone.text),
      );
      if (!isClean(alone) || nameOfLimit.test(alone.text))
        process.stdout.write(`  ${alone.status} ${alone.text.slice(-600)}\n`);
    }
  }
  check('the server lives', isAlive(server));
  if (!isAlive(server)) process.stdout.write(server.output());
} finally {
  await server.kill();
  limit.remove();
  rmSync(root, { recursive: true });
}
for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
process.stdout.write(`memory: ${passed} passed, ${failures.length} failed\n`);
process.exit(failures.length === 0 ? 0 : 1);
