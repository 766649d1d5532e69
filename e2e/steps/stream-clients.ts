import { existsSync, readFileSync } from 'node:fs';

/*
 * Runs in a pod of its own and imports nothing of the tests: one client that streams inserts over a WebSocket and one that is told
 * of changes, until a file says stop. Both come back after a lost connection. A chunk whose answer was lost is streamed once more,
 * by another session; a chunk that was acknowledged is sent once more by the same one, which must not apply it. Every event is a
 * line of JSON in the pod's log.
 */

const [, host = ''] = process.argv;
const password = readFileSync('/secret/password', 'utf8').trim();
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const patienceMs = 5_000;
const chunkRows = 10;

type Frame = Readonly<Record<string, unknown>>;

const rest = (ms: number): Promise<void> => new Promise((over) => setTimeout(over, ms));
const isOver = (): boolean => existsSync('/tmp/stop');
const say = (event: object): void => console.log(JSON.stringify({ at: Date.now(), ...event }));

/** Answers come in the order of the questions; changes in between go to `changed`. */
class Connection {
  readonly #socket: WebSocket;
  readonly #changed: (frame: Frame) => void;
  #answered: ((frame: Frame) => void) | undefined;
  readonly ended: Promise<void>;
  isOpen = true;

  private constructor(socket: WebSocket, changed: (frame: Frame) => void) {
    this.#socket = socket;
    this.#changed = changed;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data))));
    this.ended = new Promise((over) => {
      socket.addEventListener('close', () => {
        this.isOpen = false;
        over();
      });
    });
  }

  static async open(changed: (frame: Frame) => void = () => {}): Promise<Connection> {
    const socket = new WebSocket(`ws://${host}:2480/ws`, { headers: { authorization } });
    await new Promise<void>((opened, failed) => {
      const late = setTimeout(() => {
        socket.close();
        failed(new Error('not open in time'));
      }, patienceMs);
      const end = (how: () => void) => () => {
        clearTimeout(late);
        how();
      };
      socket.addEventListener('open', end(opened));
      socket.addEventListener(
        'error',
        end(() => failed(new Error('refused'))),
      );
    });
    return new Connection(socket, changed);
  }

  #take(frame: Frame): void {
    if ('changeType' in frame) this.#changed(frame);
    else this.#answered?.(frame);
  }

  /** @throws Error when the connection ends, or there is no answer in time */
  async ask(question: object): Promise<Frame> {
    const answer = new Promise<Frame>((got) => {
      this.#answered = got;
    });
    this.#socket.send(JSON.stringify(question));
    const lost = async (why: string, when: Promise<void>): Promise<never> => {
      await when;
      throw new Error(why);
    };
    return Promise.race([answer, lost('closed', this.ended), lost('silent', rest(patienceMs))]);
  }

  close(): void {
    this.#socket.close();
  }
}

const rowsOf = (chunk: number): readonly object[] =>
  Array.from({ length: chunkRows }, (_, row) => ({ n: chunk * chunkRows + row }));

let chunk = 0;

/** Streams chunks until the connection ends. @throws Error what ended it */
async function streamOnce(connection: Connection): Promise<void> {
  const options = {
    targetType: 'Entry',
    transactionMode: 'per_batch',
    conflictMode: 'ignore',
    keyColumns: ['n'],
  };
  const started = await connection.ask({ action: 'start', database: 'load', options });
  const { sessionId } = started;
  if (started['action'] !== 'started') throw new Error(JSON.stringify(started));
  say({ started: sessionId });
  for (let chunkSeq = 1; !isOver(); chunkSeq += 1) {
    const frame = { action: 'chunk', sessionId, chunkSeq, records: rowsOf(chunk) };
    const { action, inserted, ignored, replay, ...more } = await connection.ask(frame);
    const stored = Number(inserted) + Number(ignored);
    if (action !== 'batchAck' || replay === true || stored !== chunkRows)
      throw new Error(JSON.stringify({ action, inserted, ignored, replay, ...more }));
    say({ acknowledged: chunk, ignored });
    chunk += 1;
    const again = await connection.ask(frame);
    say(again['replay'] === true ? { replayed: chunkSeq } : { appliedTwice: again });
    await rest(40);
  }
}

async function streamer(): Promise<void> {
  while (!isOver()) {
    let connection: Connection | undefined;
    try {
      connection = await Connection.open();
      await streamOnce(connection);
    } catch (error) {
      say({ broken: String(error).slice(0, 300) });
    }
    connection?.close();
    await rest(100);
  }
}

async function listener(): Promise<void> {
  while (!isOver()) {
    const seen = new Set<unknown>();
    let told = 0;
    try {
      const connection = await Connection.open(({ record }) => {
        const rid = (record as Frame)['@rid'];
        if (seen.has(rid)) say({ toldTwice: rid });
        seen.add(rid);
        told += 1;
      });
      const question = { action: 'subscribe', database: 'load', type: 'Entry' };
      const { result, ...more } = await connection.ask({ ...question, changeTypes: ['create'] });
      if (result !== 'ok') throw new Error(JSON.stringify(more));
      say({ subscribed: true });
      while (connection.isOpen && !isOver()) {
        await Promise.race([connection.ended, rest(200)]);
        if (told > 0) say({ told });
        told = 0;
      }
      connection.close();
    } catch (error) {
      say({ unheard: String(error).slice(0, 300) });
    }
    await rest(100);
  }
}

await Promise.all([streamer(), listener()]);
say({ over: true });
setInterval(() => {}, 1000);
