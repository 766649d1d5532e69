import { connect } from 'node:net';

/** A load of raw sockets on the wire of plugin `redis`: `pipeline` commands a write, the next when all their replies are there. */
export interface WireLoad {
  readonly port: number;
  readonly connections: number;
  readonly pipeline: number;
  readonly durationMs: number;
  /** Sent first on each connection; each word list has one reply. */
  readonly greeting: readonly (readonly string[])[];
  readonly command: (n: number) => readonly string[];
}

/** @returns replies a second. @throws Error for a reply that is an error */
export async function generateWireLoad(load: WireLoad): Promise<number> {
  let sent = 0;
  let replies = 0;
  let startedAt = 0;
  let endedAt = 0;
  let ready = 0;
  const start: (() => void)[] = [];
  const runOne = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(load.port, '127.0.0.1');
      socket.setNoDelay(true);
      let awaited = load.greeting.length;
      let rest = '';
      let isGreeted = false;
      const send = () => {
        let text = '';
        for (let i = 0; i < load.pipeline; i += 1) text += commandText(load.command(sent++));
        awaited = load.pipeline;
        socket.write(text, 'latin1');
      };
      socket.on('error', reject);
      socket.on('connect', () => socket.write(load.greeting.map(commandText).join(''), 'latin1'));
      socket.on('data', (chunk) => {
        const text = rest + chunk.toString('latin1');
        const { count, end, error } = countReplies(text);
        if (error !== undefined) reject(new Error(error));
        rest = text.slice(end);
        awaited -= count;
        if (isGreeted) replies += count;
        if (awaited > 0) return;
        if (!isGreeted) {
          isGreeted = true;
          start.push(send);
          ready += 1;
          if (ready === load.connections) {
            startedAt = performance.now();
            for (const begin of start) begin();
          }
          return;
        }
        endedAt = performance.now();
        if (endedAt - startedAt < load.durationMs) send();
        else {
          socket.destroy();
          resolve();
        }
      });
    });
  await Promise.all(Array.from({ length: load.connections }, runOne));
  return replies / ((endedAt - startedAt) / 1000);
}

function commandText(words: readonly string[]): string {
  let text = `*${words.length}\r\n`;
  for (const word of words) text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  return text;
}

/** Whole replies at the start of `text`: lines, integers and bulk strings, and arrays of them as one. */
function countReplies(text: string): { count: number; end: number; error?: string } {
  let count = 0;
  let at = 0;
  for (;;) {
    const end = replyEnd(text, at);
    if (end === undefined) return { count, end: at };
    if (text[at] === '-') return { count, end, error: text.slice(at, end) };
    at = end;
    count += 1;
  }
}

function replyEnd(text: string, at: number): number | undefined {
  const line = text.indexOf('\r\n', at);
  if (line < 0) return undefined;
  const kind = text[at];
  const length = Number(text.slice(at + 1, line));
  if (kind === '$') {
    const end = line + 2 + (length < 0 ? 0 : length + 2);
    return end <= text.length ? end : undefined;
  }
  if (kind !== '*' && kind !== '%') return line + 2;
  let end: number | undefined = line + 2;
  for (let i = 0; i < (kind === '%' ? 2 * length : length); i += 1) {
    end = end === undefined ? undefined : replyEnd(text, end);
  }
  return end;
}
