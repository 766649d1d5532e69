import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { isErrno } from '#platform/files.ts';
import type { RaftTls } from './raft-tls.ts';

/**
 * How the Raft port of a peer answers. `refuses`: the process is gone. `silent`: nothing comes in time, as from a process that
 * stands still or through a network that loses every packet.
 */
export type Reach = 'answers' | 'refuses' | 'silent';

/**
 * Connects once, and no longer than the time: the library waits for a connection that hangs until the system gives it up, minutes
 * later. A Raft port speaks first; with TLS it answers the greeting.
 */
export function reachOf(address: string, tls: RaftTls | undefined, ms: number): Promise<Reach> {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const to = { host, port: Number(address.slice(at + 1)), timeout: ms };
  const socket: Socket =
    tls === undefined
      ? connect(to)
      : connectSecurely({
          ...to,
          ca: tls.trusted,
          key: tls.key,
          cert: tls.certificates,
          // Whether it may be trusted is judged where something is sent.
          rejectUnauthorized: false,
        });
  return new Promise((resolve) => {
    const tell = (reach: Reach) => {
      resolve(socket.bytesRead > 0 ? 'answers' : reach);
      socket.destroy();
    };
    socket.once('data', () => tell('answers'));
    socket.once('secureConnect', () => tell('answers'));
    socket.once('timeout', () => tell('silent'));
    socket.once('close', () => tell('silent'));
    socket.on('error', (error) => tell(isErrno(error, 'ECONNREFUSED') ? 'refuses' : 'silent'));
  });
}
