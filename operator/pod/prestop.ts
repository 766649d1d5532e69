import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { basicAuthorization, call } from './http-call.ts';
import { parseFlags } from './flags.ts';

/*
 * What a member does before its pod ends (chart.md 6.3): it leaves the group, or hands leadership over and stays a member. While its
 * Cluster hibernates all members end, so it stays the leader to its end (operator.md 8.11).
 * Never holds the pod up: whatever happens, it ends in time and without an error.
 */

/** Hand-over 20 s, removal 10 s, and some more: less than the grace period leaves for it. */
const timeoutMs = 40_000;

const paths = { leave: '/api/v1/cluster/leave', handover: '/api/v1/cluster/prepare-stop' } as const;

/** The command `prestop --mode=leave|handover --port= --password-file=`. @returns 0 always */
export async function runPrestop(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  try {
    const flags = parseFlags(words, ['mode', 'port', 'password-file']);
    const mode = flags.one('mode') ?? 'leave';
    if (mode !== 'leave' && mode !== 'handover')
      throw new Error(`--mode '${mode}': use leave or handover`);
    const file = flags.one('password-file');
    const password =
      file === undefined
        ? (environment['ROOT_PASSWORD'] ?? '')
        : (await readFile(file, 'utf8')).trim();
    const keepsLead = mode === 'handover' && (await hibernates(environment));
    const { status, body } = await call({
      method: 'POST',
      url: `http://127.0.0.1:${flags.one('port') ?? '2480'}${paths[mode]}`,
      headers: {
        Authorization: basicAuthorization('root', password),
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(keepsLead ? { handOver: false } : {}),
      timeoutMs,
    });
    write(`prestop ${mode}: ${status} ${body.slice(0, 500)}\n`);
  } catch (error) {
    write(`prestop: ${error instanceof Error ? error.message : String(error)}\n`);
  }
  return 0;
}

/** What the record of the operator says, as far as the kubelet has brought it; a release of the chart has none. */
async function hibernates(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const folder = environment['POLYAD_GUARD_MEMBERS'] ?? '/etc/polyad/members';
  try {
    const record = JSON.parse(await readFile(join(folder, 'members.json'), 'utf8')) as {
      readonly hibernating?: boolean;
    };
    return record.hibernating === true;
  } catch {
    return false;
  }
}
