import { execFile } from 'node:child_process';
import { systemRuntime } from '../kubernetes/system-runtime.ts';
import { runCluster } from './cluster-command.ts';
import type { Kubectl } from './cluster-command.ts';

// The command `cluster` of `polyad` and of the kubectl plugin `kubectl-polyad`.

const bytesMax = 64 * 1024 * 1024;

const kubectl: Kubectl = (words) =>
  new Promise((resolve, reject) => {
    execFile('kubectl', words, { maxBuffer: bytesMax }, (failure, output, error) => {
      if (failure === null) resolve(output);
      else reject(new Error(error === '' ? failure.message : error));
    });
  });

/** @returns the exit code */
export function runPlugin(words: readonly string[]): Promise<number> {
  const out = {
    write: (text: string) => void process.stdout.write(text),
    complain: (text: string) => void process.stderr.write(text),
  };
  return runCluster(words, kubectl, out, systemRuntime.clock.now());
}
