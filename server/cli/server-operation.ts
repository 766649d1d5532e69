import { type ApiAnswer, type ApiClient, refusalOf, requireOk } from './api-client.ts';
import { linesOf, textOf } from './lines.ts';
import { grouped, type ProgressBar } from './progress-bar.ts';
import { CommandFailure, exitCodes } from './terminal.ts';

/** An entry of `GET /progress`, or an event of a stream of progress. */
interface ProgressEvent {
  readonly status?: string;
  readonly message?: string;
  readonly percentage?: number;
  readonly parsed?: number;
  readonly stepName?: string;
  readonly operation?: string;
  readonly done?: number;
}

/**
 * Runs a server command that answers with a stream of progress (http-api.md 18.6).
 * @returns the last event
 * @throws CommandFailure with the server's words
 */
export async function runStreamed(
  client: ApiClient,
  body: Readonly<Record<string, unknown>>,
  bar: ProgressBar,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await client.open({
    method: 'POST',
    path: '/server',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(body),
  });
  const type = answer.headers['content-type'] ?? '';
  const status = answer.statusCode ?? 0;
  if (!type.startsWith('text/event-stream')) {
    const text = await textOf(answer);
    if (status !== 200) throw refusalOf(status, text);
    return JSON.parse(text);
  }
  for await (const line of linesOf(answer)) {
    if (!line.startsWith('data:')) continue;
    const event = JSON.parse(line.slice(5)) as ProgressEvent;
    if (event.status === 'completed') return event as Readonly<Record<string, unknown>>;
    if (event.status === 'error')
      throw new CommandFailure(exitCodes.failed, event.message ?? 'the server gave no reason');
    bar.show(fractionOf(event), textOfEvent(event));
  }
  throw new CommandFailure(exitCodes.failed, 'the server ended the answer before it was complete');
}

const pollMs = 300;

/** Waits for an answer, and shows meanwhile what the server says of operations on the database. */
export async function showingProgress(
  client: ApiClient,
  given: {
    readonly database: string;
    readonly bar: ProgressBar;
    readonly sleep: (ms: number) => Promise<void>;
  },
  answer: Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  let isDone = false;
  const done = answer.finally(() => {
    isDone = true;
  });
  const path = `/progress/${encodeURIComponent(given.database)}`;
  const poll = async () => {
    while (!isDone) {
      await Promise.race([given.sleep(pollMs), done.catch(() => {})]);
      if (isDone) return;
      const { status, text } = await client.send({ method: 'GET', path });
      const [event] = status === 200 ? (JSON.parse(text).result as ProgressEvent[]) : [];
      if (event !== undefined && !isDone) given.bar.show(fractionOf(event), textOfEvent(event));
    }
  };
  // What cannot be shown is no reason to stop.
  await Promise.all([done.catch(() => {}), poll().catch(() => {})]);
  return requireOk(await done);
}

function fractionOf({ percentage }: ProgressEvent): number | undefined {
  return percentage === undefined || percentage < 0 ? undefined : percentage / 100;
}

function textOfEvent({ message, parsed, operation, stepName, done }: ProgressEvent): string {
  if (message !== undefined) return message;
  if (parsed !== undefined) return `${grouped(parsed)} records`;
  return [operation, stepName, done === undefined ? undefined : grouped(done)]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** A name in a server command. */
export function quoted(name: string): string {
  if (/[`\r\n]/.test(name))
    throw new CommandFailure(exitCodes.usage, `'${name}' is no name of a database`);
  return `\`${name}\``;
}
