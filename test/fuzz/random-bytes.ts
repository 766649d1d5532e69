import { connect } from 'node:net';

/*
 * Noise for the ports of a server: random bytes, damaged requests and, behind a valid handshake, damaged WebSocket frames.
 * Seeded: the same seed sends the same bytes.
 */

/** A source of numbers in [0, 1), the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface NoiseOptions {
  readonly port: number;
  /** Value of the Authorization header of the requests that are damaged. */
  readonly authorization: string;
  readonly seed: number;
  readonly connections: number;
  /** A connection that the server keeps open is left after this time (ms). */
  readonly patienceMs: number;
}

const parallel = 64;

/** Sends the noise; resolves when every connection is over. @returns how many answers began with a status line */
export async function makeNoise(options: NoiseOptions): Promise<number> {
  const random = seededRandom(options.seed);
  let answered = 0;
  const queue = Array.from({ length: options.connections }, () => noise(random, options));
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const answer = await sendBytes(options, next);
      if (answer.startsWith('HTTP/1.1 ')) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return answered;
}

function sendBytes({ port, patienceMs }: NoiseOptions, { pieces, ends }: Noise): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece);
      if (ends) socket.end();
    });
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (piece) => {
      if (received.length < 1000) received += piece.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}

interface Noise {
  readonly pieces: readonly Buffer[];
  /** The client says that nothing more will come, instead of staying. */
  readonly ends: boolean;
}

function noise(random: () => number, options: NoiseOptions): Noise {
  return { ends: random() < 0.8, pieces: piecesOf(random, options) };
}

function piecesOf(random: () => number, options: NoiseOptions): readonly Buffer[] {
  const kind = Math.floor(random() * 4);
  if (kind === 0) return [randomBytes(random, 1 + Math.floor(random() * 4000))];
  if (kind === 1) return [Buffer.from(upgrade(options)), ...frames(random)];
  const templates = requests(options);
  const template = templates[Math.floor(random() * templates.length)] as string;
  return [damaged(random, Buffer.from(template))];
}

function randomBytes(random: () => number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) bytes[at] = Math.floor(random() * 256);
  return bytes;
}

/** A copy with some bytes changed, taken out, doubled or cut off. */
function damaged(random: () => number, whole: Buffer): Buffer {
  let bytes = Buffer.from(whole);
  const count = 1 + Math.floor(random() * 8);
  for (let time = 0; time < count && bytes.length > 1; time++) {
    const at = Math.floor(random() * bytes.length);
    const length = Math.floor(random() * 30);
    const piece = bytes.subarray(at, at + length);
    switch (Math.floor(random() * 5)) {
      case 0:
        bytes[at] = Math.floor(random() * 256);
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          randomBytes(random, length),
          bytes.subarray(at),
        ]);
        break;
      default:
        bytes = Buffer.from(bytes.subarray(0, Math.max(1, at)));
    }
  }
  return bytes;
}

function requests({ authorization }: NoiseOptions): readonly string[] {
  const head = `Host: a\r\nAuthorization: ${authorization}\r\n`;
  const post = (path: string, body: string, more = '') =>
    `POST /api/v1/${path} HTTP/1.1\r\n${head}${more}Content-Length: ${body.length}\r\n\r\n${body}`;
  const statement =
    '{"language":"sql","command":"SELECT :a AS a","params":{"a":[1,{"$bytes":"AA=="}]}}';
  const lines = '{"@type":"v","@class":"Person","@id":"t","n":1}\n';
  const chunk = `${lines.length.toString(16)}\r\n${lines}\r\n`;
  const jsonl = 'Content-Type: application/x-ndjson\r\n';
  return [
    `GET /api/v1/health HTTP/1.1\r\n${head}\r\n`,
    `GET /api/v1/query/school/sql/SELECT%201?limit=5 HTTP/1.1\r\n${head}\r\n`,
    post('query/school', statement),
    post('command/school', statement, 'Accept: application/x-ndjson\r\n'),
    post('command/school', statement, 'Expect: 100-continue\r\n'),
    post('server', '{"command":"list databases"}', 'Accept-Encoding: gzip\r\n'),
    post('batch/school', lines, jsonl),
    `POST /api/v1/batch/school HTTP/1.1\r\n${head}${jsonl}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `POST /api/v1/query/school HTTP/1.1\r\n${head}Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n${'x'.repeat(20)}`,
    `OPTIONS /api/v1/server HTTP/1.1\r\n${head}Origin: http://a\r\n\r\n`,
  ];
}

function upgrade({ authorization }: NoiseOptions): string {
  return [
    'GET /ws HTTP/1.1',
    'Host: a',
    `Authorization: ${authorization}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n');
}

const messages = [
  '{"action":"subscribe","database":"school","type":"Person","changeTypes":["create"]}',
  '{"action":"start","database":"school","options":{"targetType":"Person","transactionMode":"per_row"}}',
  '{"action":"chunk","sessionId":"x","chunkSeq":1,"records":[{"n":1}]}',
  '{"action":"commit","sessionId":"x"}',
];

/** Masked frames (RFC 6455, section 5.2) with random kinds, some of them damaged. */
function frames(random: () => number): readonly Buffer[] {
  const count = 1 + Math.floor(random() * 5);
  return Array.from({ length: count }, () => {
    const text = messages[Math.floor(random() * messages.length)] as string;
    const isText = random() < 0.6;
    const payload = random() < 0.5 ? Buffer.from(text) : damaged(random, Buffer.from(text));
    const short = payload.subarray(0, 125);
    const opcode = isText ? 0x81 : Math.floor(random() * 256);
    const mask = randomBytes(random, 4);
    const masked = short.map((byte, at) => byte ^ (mask[at % 4] as number));
    const frame = Buffer.concat([Buffer.from([opcode, 0x80 | short.length]), mask, masked]);
    return random() < 0.7 ? frame : damaged(random, frame);
  });
}
