import { request as plainRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';

/*
 * The snapshot of a database, from whichever member leads (ha.md 9.3). A member that does not lead says so, and one that sends
 * enough snapshots already asks to come again.
 */

export interface SnapshotQuestion {
  /** Addresses of the members, `http://host:port`. */
  readonly members: readonly string[];
  readonly database: string;
  readonly token: string;
  readonly authority?: string | undefined;
  readonly roundsMax?: number;
  readonly pauseMs?: number;
}

export interface Snapshot {
  /** The member that gives it. */
  readonly member: string;
  /** Everything up to it is in the snapshot. */
  readonly commitIndex: number | undefined;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Ten minutes: an election, a member that restarts, other snapshots. */
const standardRounds = 120;
const standardPauseMs = 5000;
const idleMs = 330_000;
const textBytesMax = 64 * 1024;

/** @throws Error with what the members said when none gave it */
export async function openSnapshot(question: SnapshotQuestion): Promise<Snapshot> {
  const { roundsMax = standardRounds, pauseMs = standardPauseMs } = question;
  let last = 'there are no members';
  for (let round = 1; round <= roundsMax; round++) {
    for (const member of question.members) {
      const tried = await attempt(question, member);
      if (typeof tried === 'object') return tried;
      last = tried;
    }
    if (round < roundsMax) await pause(pauseMs);
  }
  throw new Error(`no member gives a snapshot of ${question.database}: ${last}`);
}

/** @returns why it may go well another time @throws Error when it will not */
async function attempt(question: SnapshotQuestion, member: string): Promise<Snapshot | string> {
  const { database, token } = question;
  let response: IncomingMessage;
  try {
    response = await ask(question, member);
  } catch (error) {
    return `${member} does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
  const { statusCode: status = 0, headers } = response;
  if (status === 200) {
    if (headers['x-service-snapshot-manifest'] !== '1')
      throw new Error(`${member} sends no snapshot that can be checked`);
    const index = Number(headers['x-service-snapshot-index']);
    const commitIndex = Number.isSafeInteger(index) ? index : undefined;
    return { member, commitIndex, pieces: wholeSnapshot(response, member) };
  }
  const said = (await textOf(response)).replaceAll(token, '…');
  const what = `${member} answered ${status}: ${said.slice(0, 300)}`;
  if (status === 409 || status === 429 || status >= 500) return what;
  throw new Error(`no snapshot of ${database}: ${what}`);
}

function ask(
  { database, token, authority }: SnapshotQuestion,
  member: string,
): Promise<IncomingMessage> {
  const url = new URL(`${member}/api/v1/ha/snapshot/${encodeURIComponent(database)}`);
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      headers: { 'x-service-cluster-token': token },
      agent: false,
      timeout: idleMs,
      ...(authority === undefined ? undefined : { ca: authority }),
    });
    sent.on('timeout', () => sent.destroy(new Error('nothing came for too long')));
    sent.on('error', reject);
    sent.on('response', resolve);
    sent.end();
  });
}

/** A snapshot ends as a ZIP archive does; one that is cut off is none. */
async function* wholeSnapshot(
  response: IncomingMessage,
  member: string,
): AsyncIterable<Uint8Array> {
  let tail: Buffer = Buffer.alloc(0);
  for await (const piece of response) {
    tail = Buffer.concat([tail, piece as Buffer]).subarray(-endBytes);
    yield piece as Uint8Array;
  }
  if (!response.complete || !tail.subarray(0, 4).equals(endOfArchive))
    throw new Error(`${member} cut the snapshot off`);
}

const endOfArchive = Buffer.from([0x50, 0x4b, 5, 6]);
const endBytes = 22;

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > textBytesMax) break;
  }
  return text.trim();
}
