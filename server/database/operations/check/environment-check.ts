import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { DatabaseError } from '#core/errors.ts';
import { helperEnvironment } from '#platform/helper-environment.ts';
import type { EnvironmentFacts } from '#storage/environment/check.ts';

const program = fileURLToPath(import.meta.resolve('#storage/environment/check-process.ts'));
const outputCharactersMax = 4096;

/**
 * Reads a copied environment from end to end in a process of its own, so that neither the event loop nor, should the file be
 * forged, the server is at stake.
 * @throws DatabaseError `Validation` naming what is wrong with it
 */
export async function checkEnvironmentApart(
  directory: string,
  signal: AbortSignal,
): Promise<EnvironmentFacts> {
  const child = spawn(process.execPath, ['--no-warnings', program, directory], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: helperEnvironment(),
    signal,
  });
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    if (output.length < outputCharactersMax) output += text;
  });
  const end = await new Promise<string>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code, killedBy) => done(killedBy ?? String(code)));
  });
  if (end === '0') return JSON.parse(output) as EnvironmentFacts;
  const reason = output === '' || end !== '1' ? `reading it ended with ${end}` : output;
  throw new DatabaseError('Validation', `the copy of the database is damaged: ${reason}`);
}
