import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { HttpClient } from '../support/server-process.ts';

/** Runs a program of this folder that prints `listening <port>`. */
export async function startListening(
  file: string,
  ...parameters: readonly string[]
): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, [file, ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += String(chunk);
      const match = /listening (\d+)/.exec(text);
      if (match) resolve(Number(match[1]));
    });
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { port, child };
}

/** Runs a program of this folder to its end. @returns what it printed */
export async function runToEnd(file: string, ...parameters: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [file, ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  const code = await new Promise<number | null>((done) => {
    child.once('close', (exitCode) => done(exitCode));
  });
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return text;
}

export async function stopChild(child: ChildProcess): Promise<void> {
  const exited = new Promise<void>((done) => {
    child.once('exit', () => done());
  });
  child.kill('SIGTERM');
  await exited;
}

/**
 * Resident set of a process in megabytes (Linux), now or at its highest; or its two parts now: what it has for itself, and pages of
 * files that it maps, which the kernel takes back when somebody needs them.
 */
export function residentMegabytes(
  processId: number,
  field: 'VmRSS' | 'VmHWM' | 'RssAnon' | 'RssFile' = 'VmRSS',
): number {
  const status = readFileSync(`/proc/${processId}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Processor seconds (user and system) that a process has used so far (Linux, 100 ticks a second). */
export function cpuSeconds(processId: number): number {
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Flushes of the disk that a server has made so far. */
export async function flushCount(client: HttpClient): Promise<number> {
  const { body } = await client.request('GET', '/server');
  const { metrics } = body as {
    metrics: { profiler: { diskFlushes: { count: number } } };
  };
  return metrics.profiler.diskFlushes.count;
}
