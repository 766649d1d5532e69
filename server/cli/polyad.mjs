#!/usr/bin/env node
// The executable of the package. Runs on whatever Node there is, and goes on with the packaged one where that is needed:
// sources are TypeScript, which Node runs from version 24 on. Plain JavaScript that Node 20 understands.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const majorMin = 24;
const here = dirname(fileURLToPath(import.meta.url));
const cliScript = join(here, 'cli.ts');
const serverScript = join(here, '..', 'main.ts');
/** `polyad cluster`, and `kubectl polyad cluster` under the other name of this file. */
const clusterScript = join(here, '..', '..', 'operator', 'main.ts');
const commandLine = process.argv.slice(2);

/** Settings alone mean `start`, as `polyad --service.server.name=Service_1`. */
function startsServer([first = '', ...rest]) {
  if (first === 'start') return !rest.includes('--help') && !rest.includes('-h');
  return (
    first === '--version' ||
    first === '--prompt-password' ||
    /^(--?service\.|-D)/.test(first)
  );
}

/** `key=value` of `polyad start` is the same as `--key=value`. */
function serverArguments([first, ...rest]) {
  if (first !== 'start') return commandLine;
  return rest.map((argument) => (/^[a-zA-Z][\w.]*=/.test(argument) ? `--${argument}` : argument));
}

/** The packaged Node; undefined when it was not installed. */
function packagedNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json');
    const name = process.platform === 'win32' ? 'node.exe' : 'node';
    const path = join(dirname(manifest), 'bin', name);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Node strips types from no file below `node_modules`; the package does it itself then. */
function nodeOptions() {
  const isInstalled = here.split(/[/\\]/).includes('node_modules');
  const hook = new URL('strip-types.mjs', import.meta.url).href;
  return isInstalled ? ['--disable-warning=ExperimentalWarning', '--import', hook] : [];
}

/** Rows pass through and leave nothing behind: 104 to 114 MB for 117,791 of them, not 130 to 151. */
const smallHeap = ['--max-semi-space-size=2'];

/** Ends as the child ends. Signals of the terminal reach it by themselves, the others are passed on. */
function runChild(executable, argv) {
  const child = spawn(executable, argv, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`polyad: ${executable} cannot be run: ${error.message}\n`);
    process.exitCode = 70;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
}

const isRecent = Number(process.versions.node.split('.')[0]) >= majorMin;
const executable = isRecent ? process.execPath : packagedNode();
const isServer = startsServer(commandLine);
const isCluster = commandLine[0] === 'cluster';
const ofCluster = [...nodeOptions(), clusterScript, ...commandLine];
const argv = isCluster ? ofCluster : isServer
  ? [...nodeOptions(), serverScript, ...serverArguments(commandLine)]
  : [...nodeOptions(), ...smallHeap, cliScript, ...commandLine];

if (executable === undefined) {
  const seen = process.versions.node;
  process.stderr.write(
    `polyad: Node ${majorMin} or later is needed and this is ${seen}: run 'npm install' with install scripts allowed, which brings the right one, or use your own\n`,
  );
  process.exitCode = 70;
} else if (isRecent && process.execve !== undefined) {
  process.execve(executable, [executable, ...argv], process.env);
} else runChild(executable, argv);
