import { connect, createServer, type Server, type Socket } from 'node:net';
import { systemRuntime } from '#platform/system-runtime.ts';

/**
 * A TCP connection between two servers of a local cluster that can be cut: silently, as a network that loses every packet does.
 * What was open is dropped when it heals, so that both sides begin anew.
 */
export class Link {
  #server: Server;
  readonly #port: number;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  /** What the one who dialled sends is lost; what the target sends is lost. */
  #cut: 'nothing' | 'there' | 'back' | 'both' = 'nothing';
  /** What the target sends arrives at so many bytes a second. */
  #bytesPerSecond = Number.POSITIVE_INFINITY;

  /** @param port on loopback, stands for the target; one that no outgoing connection is given while the link is down */
  constructor(targetPort: number, port: number) {
    this.#targetPort = targetPort;
    this.#port = port;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', resolve);
    });
  }

  /** The target has ended: whoever connects is refused, as it would be without the link. */
  down(): void {
    this.#server.close();
    this.#server = createServer((socket) => this.#accept(socket));
    if (!this.#isCut) for (const socket of this.#sockets) socket.destroy();
  }

  /** The target is started again. */
  async up(): Promise<void> {
    if (!this.#server.listening) await this.open();
  }

  /** @param way the only one in which nothing gets through */
  cut(way: 'there' | 'back' | 'both' = 'both'): void {
    this.#cut = this.#cut === 'nothing' || this.#cut === way ? way : 'both';
    if (this.#cut === 'both') for (const socket of this.#sockets) socket.pause();
  }

  heal(): void {
    this.slow(Number.POSITIVE_INFINITY);
    if (!this.#isCut) return;
    this.#cut = 'nothing';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** What the target sends arrives so slowly from now on, on each connection. */
  slow(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  get #isCut(): boolean {
    return this.#cut !== 'nothing';
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(from: Socket): void {
    this.#keep(from);
    // Who connects while it is cut waits for an answer that does not come.
    if (this.#isCut) {
      from.pause();
      return;
    }
    const to = connect(this.#targetPort, '127.0.0.1');
    this.#keep(to);
    const join = (one: Socket, other: Socket, way: 'there' | 'back') => {
      one.on('data', (piece) => {
        if (this.#cut === way || this.#cut === 'both') return;
        const waitMs = way === 'back' ? (piece.length / this.#bytesPerSecond) * 1000 : 0;
        const isTaken = other.write(piece);
        if (waitMs < 1) {
          if (!isTaken) one.pause();
          return;
        }
        one.pause();
        void systemRuntime.timers.sleep(waitMs).then(() => {
          if (this.#cut !== 'both') one.resume();
        });
      });
      other.on('drain', () => {
        const isSlow = way === 'back' && this.#bytesPerSecond !== Number.POSITIVE_INFINITY;
        if (this.#cut !== 'both' && !isSlow) one.resume();
      });
      one.on('end', () => this.#isCut || other.end());
      // A peer that died is seen at once; one that is cut off is not.
      one.on('close', () => this.#isCut || other.destroy());
    };
    join(from, to, 'there');
    join(to, from, 'back');
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
