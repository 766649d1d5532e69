import { connect, type Socket } from 'node:net';

/** A load generator of raw sockets: keep-alive connections, one request at a time on each. Loopback only. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** The n-th request as bytes, with its Content-Length. */
  readonly request: (n: number) => Buffer;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statusCounts: ReadonlyMap<number, number>;
}

export async function generateLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  const statusCounts = new Map<number, number>();
  const deadline = performance.now() + options.durationMs;
  const start = performance.now();
  let sent = 0;
  const clients = Array.from({ length: options.connections }, () =>
    runConnection(options, deadline, () => options.request(sent++), latencies, statusCounts),
  );
  await Promise.all(clients);
  const seconds = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    requestsPerSecond: latencies.length / seconds,
    p50Ms: latencies[latencies.length >> 1] ?? Number.NaN,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    statusCounts,
  };
}

/** One connection that asks one thing after the other, and costs its process little beside what is measured. */
export class RawConnection {
  readonly #socket: Socket;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
  }

  /**
   * @returns the milliseconds until the answer was here, and its body
   * @throws Error for a status other than `expected`
   */
  async ask(
    request: Buffer,
    expected = 200,
  ): Promise<{ readonly ms: number; readonly body: string }> {
    const start = performance.now();
    this.#socket.write(request);
    const answer = await oneResponse(this.#socket);
    const ms = performance.now() - start;
    const text = answer.toString('utf8');
    if (!text.startsWith(`HTTP/1.1 ${expected}`)) throw new Error(text);
    return { ms, body: text.slice(text.indexOf('\r\n\r\n') + 4) };
  }

  close(): void {
    this.#socket.destroy();
  }
}

function oneResponse(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let data: Buffer = Buffer.alloc(0);
    const end = (how: () => void) => {
      socket.off('data', more).off('error', fail).off('close', closed);
      how();
    };
    const more = (chunk: Buffer) => {
      data = data.length === 0 ? chunk : Buffer.concat([data, chunk]);
      const length = responseLength(data);
      if (length !== undefined && data.length >= length) end(() => resolve(data));
    };
    const fail = (error: Error) => end(() => reject(error));
    const closed = () => fail(new Error('the connection was closed before the answer'));
    socket.on('data', more).on('error', fail).on('close', closed);
  });
}

/** A whole HTTP/1.1 request as bytes. */
export function requestBytes(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

function runConnection(
  options: LoadOptions,
  deadline: number,
  nextRequest: () => Buffer,
  latencies: number[],
  statusCounts: Map<number, number>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(options.port, '127.0.0.1');
    socket.setNoDelay(true);
    let sentAt = 0;
    let buffered: Buffer | undefined;
    const send = () => {
      sentAt = performance.now();
      socket.write(nextRequest());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      const data = buffered === undefined ? chunk : Buffer.concat([buffered, chunk]);
      const length = responseLength(data);
      if (length === undefined || data.length < length) {
        buffered = data;
        return;
      }
      buffered = undefined;
      const status = Number(data.toString('latin1', 9, 12));
      statusCounts.set(status, (statusCounts.get(status) ?? 0) + 1);
      const now = performance.now();
      latencies.push(now - sentAt);
      if (now < deadline) send();
      else {
        socket.destroy();
        resolve();
      }
    });
  });
}

/** Bytes of the first response in `data`; undefined while its head is incomplete. Answers here always have a length. */
function responseLength(data: Buffer): number | undefined {
  const headEnd = data.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = data.toString('latin1', 0, headEnd).toLowerCase();
  const at = head.indexOf('content-length:');
  if (at < 0) return headEnd + 4;
  return headEnd + 4 + Number.parseInt(head.slice(at + 15), 10);
}
