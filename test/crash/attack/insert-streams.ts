import { WebSocket } from 'ws';
import { type Attack, databaseViolations, type Row, type Scenario } from './scenario.ts';

// Streaming inserts over WebSocket: an acknowledged chunk under per_batch and per_row is there as a whole, an open one wholly or
// not at all under per_batch; a stream under per_stream is there only when its commit was answered or was open.

const database = 'streams';
const modes = ['per_batch', 'per_row', 'per_stream'] as const;

interface Chunk {
  readonly stream: string;
  readonly seq: number;
  readonly size: number;
  fate: 'acknowledged' | 'open' | 'absent';
}

interface Stream {
  readonly name: string;
  readonly mode: (typeof modes)[number];
  readonly chunks: Chunk[];
  commit: 'none' | 'open' | 'done' | 'rolled back';
}

export class InsertStreams implements Scenario {
  readonly name = 'streaming inserts';
  readonly #streams: Stream[] = [];
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(
      database,
      'CREATE VERTEX TYPE S',
      'CREATE PROPERTY S.key STRING',
      'CREATE INDEX ON S (key) UNIQUE',
    );
  }

  async load(attack: Attack): Promise<void> {
    await Promise.all(modes.map((mode) => this.#run(attack, mode)));
  }

  async #run(attack: Attack, mode: (typeof modes)[number]): Promise<void> {
    const socket = await connect(attack);
    if (socket === undefined) return;
    while (!attack.isOver) {
      const name = `${mode}-${this.#next++}`;
      const stream: Stream = { name, mode, chunks: [], commit: 'none' };
      this.#streams.push(stream);
      const options = { targetType: 'S', transactionMode: mode };
      const started = await ask(socket, { action: 'start', database, sessionId: name, options });
      if (started === undefined) break;
      if (started['result'] === 'error')
        refused(attack, { action: 'start', stream: name }, started);
      const count = 1 + attack.below(6);
      for (let seq = 1; seq <= count; seq += 1) {
        if (!(await this.#chunk(attack, socket, stream, seq))) return socket.close();
      }
      const action = attack.random() < 0.8 ? 'commit' : 'rollback';
      if (action === 'commit') stream.commit = 'open';
      const ended = await ask(socket, { action, sessionId: name });
      if (ended === undefined) break;
      if (ended['result'] !== 'ok') refused(attack, { action, stream: name }, ended);
      else stream.commit = action === 'commit' ? 'done' : 'rolled back';
    }
    socket.close();
  }

  async #chunk(attack: Attack, socket: WebSocket, stream: Stream, seq: number): Promise<boolean> {
    const size = 1 + attack.below(120);
    const chunk: Chunk = { stream: stream.name, seq, size, fate: 'open' };
    stream.chunks.push(chunk);
    const records = Array.from({ length: size }, (_, n) => ({
      key: `${stream.name}/${seq}/${n}`,
      stream: stream.name,
      seq,
    }));
    const frame = { action: 'chunk', sessionId: stream.name, chunkSeq: seq, records };
    const answer = await ask(socket, frame);
    if (answer === undefined) return false;
    if (answer['action'] === 'batchAck' && answer['inserted'] === size) {
      chunk.fate = 'acknowledged';
      return true;
    }
    refused(attack, { action: 'chunk', stream: stream.name }, answer);
    return false;
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const rows = await attack.rows(
      database,
      'SELECT stream, seq, count(*) AS c FROM S GROUP BY stream, seq',
    );
    const found = new Map(rows.map((row) => [`${row['stream']}/${row['seq']}`, Number(row['c'])]));
    for (const stream of this.#streams) {
      for (const chunk of stream.chunks) {
        const count = found.get(`${chunk.stream}/${chunk.seq}`) ?? 0;
        const problem = judge(stream, chunk, count);
        if (problem !== undefined)
          violations.push(`chunk ${chunk.seq} of ${chunk.stream} (${chunk.size}): ${problem}`);
      }
      if (stream.mode !== 'per_stream' || stream.commit !== 'open') continue;
      const states = new Set(
        stream.chunks.map((chunk) => (found.get(`${chunk.stream}/${chunk.seq}`) ?? 0) > 0),
      );
      if (states.size > 1) violations.push(`the open commit of ${stream.name} is there by half`);
    }
    violations.push(...(await databaseViolations(attack, database)));
    await attack.rows(database, 'DELETE FROM S');
    this.#streams.length = 0;
    return violations;
  }
}

function judge(stream: Stream, chunk: Chunk, count: number): string | undefined {
  if (stream.mode === 'per_stream') {
    if (stream.commit === 'done' && count !== chunk.size) return `committed, ${count} are there`;
    if (stream.commit === 'open' && count !== 0 && count !== chunk.size)
      return `${count} are there`;
    if (stream.commit !== 'done' && stream.commit !== 'open' && count !== 0)
      return `never committed, ${count} are there`;
    return undefined;
  }
  if (chunk.fate === 'acknowledged' && count !== chunk.size)
    return `acknowledged, ${count} are there`;
  if (stream.mode === 'per_batch' && count !== 0 && count !== chunk.size)
    return `${count} of one transaction are there`;
  return undefined;
}

function refused(attack: Attack, sent: object, answer: Row): void {
  attack.remark(`stream: ${JSON.stringify(answer).slice(0, 200)}`);
  attack.failures.judge({ request: 'insert stream', sent, answer });
}

async function connect({ port, authorization }: Attack): Promise<WebSocket | undefined> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { authorization } });
  return new Promise((done) => {
    socket.once('open', () => done(socket));
    socket.on('error', () => done(undefined));
  });
}

/** One frame and its answer; undefined when the connection ended first. */
function ask(socket: WebSocket, frame: object): Promise<Row | undefined> {
  return new Promise((done) => {
    if (socket.readyState !== WebSocket.OPEN) return done(undefined);
    const onClose = () => done(undefined);
    socket.once('close', onClose);
    socket.once('message', (data) => {
      socket.off('close', onClose);
      done(JSON.parse(String(data)) as Row);
    });
    socket.send(JSON.stringify(frame));
  });
}
