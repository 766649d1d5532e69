import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { DatabaseError } from '#core/errors.ts';

/*
 * The entry point: `--version`, and the way to `plan/start.ts`, where the server is put together.
 *
 * The server runs from the platform's cache of compiled code. Without it the type stripper is loaded, every file is
 * stripped and compiled anew, and an idle server holds 30 MB more and starts half a second later. The cache can only be
 * switched on for a process by its environment, so this process replaces itself by one that has it; the first time ever, a
 * short-lived process fills the cache before.
 */

// Process 1 of a container gets no signal that it does not listen to, and loading takes a second when the disk is cold. The
// server puts its own listener in the place of this one.
process.once('SIGTERM', () => process.exit(0));

const exitCodes = { wrongUse: 1, internal: 70, wrongCluster: 78 } as const;
const cacheVariable = 'NODE_COMPILE_CACHE';
const fillingSwitch = '--fill-compile-cache';

const manifest = new URL('../package.json', import.meta.url);
const cacheDirectory = new URL('../node_modules/.cache/polyad-code/', import.meta.url);

const commandLine = process.argv.slice(2);

// Over standard output agents get the protocol and nothing else: whatever else is written goes to standard error.
const protocolOutput = commandLine.includes('--mcp-stdio') ? takeStandardOutput() : undefined;

if (commandLine.includes('--version')) await printVersion(commandLine.includes('--json'));
else if (commandLine[0] === fillingSwitch) await loadEverything();
else {
  if (process.env[cacheVariable] === undefined) await restartWithCache();
  await run();
}

async function run(): Promise<void> {
  const { startServer } = await loadServer();
  const { DatabaseError } = await import('#core/errors.ts');
  const { optimizeForRequests } = await import('#platform/code-optimization.ts');
  try {
    await startServer(commandLine, protocolOutput);
    optimizeForRequests();
  } catch (error) {
    const isWrongUse = error instanceof DatabaseError;
    console.error(isWrongUse ? `polyad: ${error.message}` : error);
    process.exit(isWrongUse ? exitCodeOf(error) : exitCodes.internal);
  }
}

/** What is wrong with a setting of the cluster stays wrong: whoever starts servers again must not loop (ha.md 12.2). */
function exitCodeOf({ code, message }: DatabaseError): number {
  const isOfCluster =
    code === 'InvalidSetting' && /^(?:unknown setting ')?service\.ha\./.test(message);
  return isOfCluster ? exitCodes.wrongCluster : exitCodes.wrongUse;
}

/** @returns what writes to standard output from now on */
function takeStandardOutput(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      write(text, (error) => done(error ?? undefined));
    },
  });
}

/** All that a server runs, which is what the cache holds: one file beside it would bring the type stripper into every server. */
async function loadServer(): Promise<typeof import('#plan/start.ts')> {
  const { keepTickShape } = await import('#platform/tick-shape.ts');
  keepTickShape();
  return await import('#plan/start.ts');
}

async function loadEverything(): Promise<void> {
  await loadServer();
  const { loadOptionalParts } = await import('#plan/optional-parts.ts');
  await loadOptionalParts();
}

/** Does not return when it succeeds: the process goes on as another one with the same number. */
async function restartWithCache(): Promise<void> {
  const { withMemoryVariables } = await import('#platform/container-memory.ts');
  const { youngGenerationOptions } = await import('#platform/young-generation.ts');
  const cache = { [cacheVariable]: fileURLToPath(cacheDirectory) };
  const environment = { ...withMemoryVariables(process.env), ...cache };
  const script = fileURLToPath(import.meta.url);
  const own = process.execArgv;
  const options = [...own, ...youngGenerationOptions(process.env['NODE_OPTIONS'] ?? '', own)];
  try {
    fillCache(environment, script);
    // A signal that came meanwhile is told in a turn of the event loop, which the next process would not have.
    await aTurn();
    process.execve?.(
      process.execPath,
      [process.execPath, ...options, script, ...commandLine],
      environment,
    );
  } catch {
    // A package that cannot be written to, a system that cannot replace a process: everything works without the cache.
  }
}

async function aTurn(): Promise<void> {
  const { systemRuntime } = await import('#platform/system-runtime.ts');
  await systemRuntime.timers.yield();
}

/** Once for each state of the sources and version of the platform. */
function fillCache(environment: NodeJS.ProcessEnv, script: string): void {
  const marker = new URL(`filled-${process.version}-${newestSource()}`, cacheDirectory);
  if (existsSync(marker)) return;
  rmSync(cacheDirectory, { recursive: true, force: true });
  mkdirSync(cacheDirectory, { recursive: true });
  writeFileSync(marker, '');
  spawnSync(process.execPath, [script, fillingSwitch], {
    env: { ...environment, NODE_OPTIONS: '' },
    stdio: 'ignore',
    timeout: 30_000,
  });
}

/** Number of source files and the time of the last change; some 10 ms. */
function newestSource(): string {
  const directory = fileURLToPath(new URL('.', import.meta.url));
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  let newestMs = 0;
  for (const file of files) newestMs = Math.max(newestMs, statSync(join(directory, file)).mtimeMs);
  return `${files.length}-${Math.floor(newestMs)}`;
}

function productVersion(): { readonly name: string; readonly version: string } {
  return JSON.parse(readFileSync(manifest, 'utf8'));
}

/** House decision 39. */
async function printVersion(asJson: boolean): Promise<void> {
  const { name, version } = productVersion();
  if (!asJson) {
    console.log(`${name} ${version}`);
    return;
  }
  const { clusterCapabilities, downgradeSafeTo, formats } = await import('#cluster/features.ts');
  const doors = ['http', 'https', 'websocket', 'batch', 'sql', 'backup', 'prometheus', 'redis'];
  const description = {
    name,
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    formats,
    capabilities: [...new Set([...doors, ...clusterCapabilities])].sort(),
    downgradeSafeTo,
  };
  console.log(JSON.stringify(description));
}
