import { randomBytes } from 'node:crypto';
import { basicAuthorization, call } from './http-call.ts';
import type { Answer } from './http-call.ts';
import { parseFlags } from './flags.ts';

/*
 * `helm test`: is the release alive, does it take its password, does it keep what it is given? One JSON line per check; the
 * password appears in none of them.
 */

const timeoutMs = 10_000;

export interface ReleaseTest {
  /** Address of the HTTP Service. */
  readonly url: string;
  /** Addresses of all members, in a group. */
  readonly members: readonly string[];
  readonly password: string;
  readonly isReadOnly: boolean;
}

interface Check {
  readonly name: string;
  /** @returns what was seen @throws Error that says what is wrong */
  readonly run: () => Promise<string>;
}

/** @returns whether all checks passed */
export async function testRelease(
  test: ReleaseTest,
  write: (line: string) => void,
): Promise<boolean> {
  let isGood = true;
  for (const { name, run } of checksOf(test)) {
    const outcome = await run().then(
      (detail) => ({ check: name, passed: true, detail }),
      (error: unknown) => ({
        check: name,
        passed: false,
        detail: error instanceof Error ? error.message : String(error),
      }),
    );
    isGood &&= outcome.passed;
    write(`${JSON.stringify(outcome)}\n`);
  }
  return isGood;
}

function checksOf(test: ReleaseTest): readonly Check[] {
  const checks: Check[] = [
    { name: 'health', run: () => expectStatus(test, '/api/v1/health', 204) },
    { name: 'ready', run: () => expectStatus(test, '/api/v1/ready', 204) },
    { name: 'login', run: () => command(test, 'list databases') },
  ];
  if (!test.isReadOnly) checks.push({ name: 'write and read', run: () => writeAndRead(test) });
  if (test.members.length > 0) checks.push({ name: 'members', run: () => compareMembers(test) });
  return checks;
}

async function expectStatus({ url }: ReleaseTest, path: string, wanted: number): Promise<string> {
  const { status } = await call({ method: 'GET', url: url + path, timeoutMs });
  if (status !== wanted) throw new Error(`GET ${path} answered ${status}, not ${wanted}`);
  return `${status}`;
}

async function command(test: ReleaseTest, text: string): Promise<string> {
  return (await post(test, '/api/v1/server', { command: text })).body;
}

/** Any member may answer: each then waits for what another one acknowledged. */
const afterAllWrites = { 'X-Service-Read-Consistency': 'linearizable' };

async function post(test: ReleaseTest, path: string, body: object): Promise<Answer> {
  const answer = await call({
    method: 'POST',
    url: test.url + path,
    headers: {
      Authorization: basicAuthorization('root', test.password),
      'Content-Type': 'application/json',
      ...afterAllWrites,
    },
    body: JSON.stringify(body),
    timeoutMs,
  });
  if (answer.status >= 300)
    throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.slice(0, 300)}`);
  return answer;
}

/** In a database of its own, which goes again whatever happens. */
async function writeAndRead(test: ReleaseTest): Promise<string> {
  const database = `helm_test_${randomBytes(6).toString('hex')}`;
  await command(test, `create database ${database}`);
  try {
    const path = `/api/v1/command/${database}`;
    const run = (text: string) => post(test, path, { language: 'sql', command: text });
    await run('CREATE DOCUMENT TYPE Probe');
    await run('INSERT INTO Probe SET number = 42');
    const { body } = await run('SELECT number FROM Probe');
    const [row] = (JSON.parse(body) as { result: readonly { number?: number }[] }).result;
    if (row?.number !== 42) throw new Error(`42 was written, read was ${body.slice(0, 300)}`);
    return 'read what was written';
  } finally {
    await command(test, `drop database ${database}`);
  }
}

interface ClusterView {
  readonly leaderId?: string;
  readonly peers?: readonly { readonly id: string; readonly replicaStatus?: string }[];
}

async function compareMembers(test: ReleaseTest): Promise<string> {
  const leaders = new Set<string>();
  for (const member of test.members) {
    const answer = await call({
      method: 'GET',
      url: `${member}/api/v1/cluster`,
      headers: { Authorization: basicAuthorization('root', test.password) },
      timeoutMs,
    });
    if (answer.status !== 200)
      throw new Error(`${member} answered ${answer.status}: ${answer.body.slice(0, 300)}`);
    const view = JSON.parse(answer.body) as ClusterView;
    leaders.add(view.leaderId ?? 'none');
    const stalled = view.peers?.find(({ replicaStatus }) => replicaStatus === 'STALLED');
    if (stalled !== undefined) throw new Error(`${stalled.id} is STALLED`);
  }
  if (leaders.size !== 1 || leaders.has('none'))
    throw new Error(`the members name these leaders: ${[...leaders].join(', ')}`);
  return `all name ${[...leaders].join()}`;
}

/** The command `test-release --url= --member=... --read-only=`, with the variable `ROOT_PASSWORD`. */
export async function runTestRelease(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  const flags = parseFlags(words, ['url', 'member', 'read-only']);
  const isGood = await testRelease(
    {
      url: flags.one('url') ?? '',
      members: flags.all('member'),
      password: environment['ROOT_PASSWORD'] ?? '',
      isReadOnly: flags.one('read-only') === 'true',
    },
    write,
  );
  return isGood ? 0 : 1;
}
