import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { runCommand, table, usage } from './commands.ts';
import { LocalCluster } from './local-cluster.ts';

/*
 * `npm run cluster`: several servers on this machine, for trying out what a cluster does. The first call starts them and stays;
 * later ones talk to it over a port on loopback that stands in `.cache/cluster/control`.
 */

const directory = resolve(import.meta.dirname, '../../../.cache/cluster');
const controlFile = join(directory, 'control');
const password = 'playwithdata';

const words = process.argv.slice(2);
const say = (text: string) => void process.stdout.write(`${text}\n`);

const count = nodesOf(words);
if (count !== undefined) await serve(count, words.includes('--keep'));
else if (words.length === 0 || words[0] === 'help') say(usage);
else process.exitCode = await send(words);

function nodesOf(given: readonly string[]): number | undefined {
  const at = given.indexOf('--nodes');
  if (at < 0) return undefined;
  const number = Number(given[at + 1]);
  return Number.isInteger(number) && number >= 1 && number <= 9 ? number : 3;
}

/** @param keeps the data of the last time */
async function serve(nodes: number, keeps: boolean): Promise<void> {
  if (!keeps) rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const cluster = new LocalCluster({
    directory,
    count: nodes,
    rootPassword: password,
    httpPort: 2480,
    raftPort: 2434,
  });
  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    control.close();
    rmSync(controlFile, { force: true });
    await cluster.stop();
    process.exitCode = 0;
  };
  const control = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (line) => {
      const asked = JSON.parse(String(line)) as string[];
      if (asked[0] === 'stop') {
        socket.end(JSON.stringify({ text: 'stopping' }));
        void stop();
        return;
      }
      runCommand(cluster, asked).then(
        (text) => socket.end(JSON.stringify({ text })),
        (error: Error) => socket.end(JSON.stringify({ error: error.message })),
      );
    });
  });
  process.on('SIGINT', () => void stop());
  process.on('SIGTERM', () => void stop());
  say(`Starting ${nodes} servers below ${directory} ...`);
  try {
    await cluster.start();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    await cluster.kill();
    process.exitCode = 1;
    return;
  }
  await new Promise<void>((listening) => control.listen(0, '127.0.0.1', listening));
  const address = control.address();
  writeFileSync(controlFile, String(typeof address === 'object' && address ? address.port : 0));
  say(table(await cluster.status()));
  const [first, last] = [cluster.servers[0], cluster.servers.at(-1)];
  say(`
Write to any of them, read from any of them (user root, password ${password}):

curl -u root:${password} http://127.0.0.1:${first?.httpPort}/api/v1/server -d '{"command":"create database school"}'
curl -u root:${password} http://127.0.0.1:${last?.httpPort}/api/v1/command/school -d '{"language":"sql","command":"CREATE VERTEX TYPE Person"}'
curl -u root:${password} http://127.0.0.1:${last?.httpPort}/api/v1/cluster

In another terminal:
${usage}`);
}

/** @returns the exit code */
async function send(given: readonly string[]): Promise<number> {
  if (!existsSync(controlFile)) {
    say('No cluster runs; npm run cluster -- --nodes 3 starts one.');
    return 1;
  }
  const port = Number(readFileSync(controlFile, 'utf8'));
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(JSON.stringify(given)));
    socket.on('data', (piece) => {
      received += String(piece);
    });
    socket.on('error', () => {
      say('No cluster answers; npm run cluster -- --nodes 3 starts one.');
      resolve(1);
    });
    socket.on('end', () => {
      const { text, error } = JSON.parse(received) as { text?: string; error?: string };
      say(text ?? error ?? '');
      resolve(error === undefined ? 0 : 1);
    });
  });
}
