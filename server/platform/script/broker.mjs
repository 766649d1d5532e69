import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';

/*
 * Stands between the server's thread, which waits, and the process that runs scripts: starts it, carries frames, ends it when it
 * does not answer in time, and says so when it dies. Frames of the process answer a call or ask something back; both go on as they
 * are.
 */

const { port, signal, heapMiB } = workerData;
const script = fileURLToPath(new URL('./process.mjs', import.meta.url));
/** A script is stopped from inside first; who does not even hear that is ended. */
const graceMs = 300;
/** For a process that has to start first, on a machine that is busy. */
const startGraceMs = 3000;

let child;
let pieces = [];
let pieceBytes = 0;
let timer;

function answer(message) {
  port.postMessage(message);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

function start() {
  const started = spawn(
    process.execPath,
    [
      '--permission',
      `--allow-fs-read=${script}`,
      '--disable-sigusr1',
      '--disallow-code-generation-from-strings',
      // An import that fails hands a script an error of the process's own world; nothing may be changed through it.
      '--frozen-intrinsics',
      '--no-warnings',
      `--max-old-space-size=${heapMiB}`,
      '--max-semi-space-size=2',
      script,
    ],
    { env: {}, stdio: ['pipe', 'pipe', 'ignore'], cwd: '/' },
  );
  yieldToServer(started.pid);
  endFirst(started.pid);
  pieces = [];
  pieceBytes = 0;
  started.stdout.on('data', (bytes) => {
    if (child === started) take(bytes);
  });
  started.stdin.on('error', () => {});
  started.on('error', () => gone(started));
  started.on('exit', () => gone(started));
  return started;
}

/** What the server does comes first; but a script gets its share where both have one processor. */
function yieldToServer(pid) {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL / 2);
  } catch {
    // It could not be started, which is told elsewhere, or the platform has no priorities.
  }
}

/** Where memory runs out all the same, the kernel is to end the script and not the server. */
function endFirst(pid) {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // As above.
  }
}

function gone(process) {
  if (child !== process) return;
  child = undefined;
  clearTimeout(timer);
  answer({ died: true });
}

function take(bytes) {
  pieces.push(bytes);
  pieceBytes += bytes.length;
  if (pieceBytes < 4) return;
  if (pieces[0].length < 4) pieces = [Buffer.concat(pieces)];
  const length = pieces[0].readUInt32LE(0);
  if (pieceBytes < 4 + length) return;
  const all = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  pieces = [];
  pieceBytes = 0;
  clearTimeout(timer);
  answer({ text: all.toString('utf8', 4, 4 + length) });
}

function send(text) {
  const body = Buffer.from(text);
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32LE(body.length);
  child.stdin.write(head);
  child.stdin.write(body);
}

port.on('message', ({ text, timeoutMs }) => {
  const isNew = child === undefined;
  child ??= start();
  clearTimeout(timer);
  const running = child;
  timer = setTimeout(() => {
    if (child !== running) return;
    child = undefined;
    running.kill('SIGKILL');
    answer({ isLate: true });
  }, timeoutMs + graceMs + (isNew ? startGraceMs : 0));
  send(text);
});
