import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Outcome {
  readonly isGood: boolean;
  readonly output: string;
  readonly error: string;
}

const bytesMax = 64 * 1024 * 1024;

/** Runs a program to its end; failing is an outcome. */
export function run(program: string, words: readonly string[], input?: string): Promise<Outcome> {
  return new Promise((settle) => {
    const child = execFile(program, words, { maxBuffer: bytesMax }, (failure, output, error) =>
      settle({ isGood: failure === null, output, error: error || (failure?.message ?? '') }),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

/** @returns what it printed @throws Error with what it complained about */
export async function must(
  program: string,
  words: readonly string[],
  input?: string,
): Promise<string> {
  const { isGood, output, error } = await run(program, words, input);
  if (!isGood) throw new Error(`${program} ${words.slice(0, 5).join(' ')}: ${error}\n${output}`);
  return output;
}

export function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
