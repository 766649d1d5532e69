import assert from 'node:assert/strict';
import { createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Envelope } from '#cluster/transport/envelope.ts';
import { type Loss, PeerChannel } from '#cluster/transport/peer-channel.ts';
import { RaftServer } from '#cluster/transport/raft-server.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { type Message, messageOf } from '#raft/message.ts';
import { freePort, until } from './worker-group.ts';

// The way to one peer whose port does not answer, or no more (ha.md 4.2), over loopback.

const names = { clusterName: 'test', clusterId: '', fromPeer: 'a_1', toPeer: 'b_1' };

class Way {
  readonly port: number;
  readonly channel: PeerChannel;
  readonly losses: Loss[] = [];
  /** Whose streams the server ends. */
  refuses: Message['type'] | undefined;
  readonly received: Envelope[] = [];
  #server: RaftServer | undefined;

  constructor(port: number) {
    this.port = port;
    this.channel = new PeerChannel({
      address: `127.0.0.1:${port}`,
      messageBytesMax: 1024 * 1024,
      clock: systemRuntime.clock,
      timers: systemRuntime.timers,
      tls: () => undefined,
      host: '127.0.0.1',
      envelope: () => ({ ...names, fromStorage: 's', toStorage: '' }),
      onLost: (loss) => this.losses.push(loss),
    });
  }

  async serve(): Promise<void> {
    this.#server = new RaftServer({
      host: '127.0.0.1',
      port: this.port,
      tls: undefined,
      admits: async () => true,
      messageBytesMax: 1024 * 1024,
      flowControlWindow: 1024 * 1024,
      onEnvelope: (envelope) => {
        if (envelope.messages.some(({ type }) => type === this.refuses)) return 'not now';
        this.received.push(envelope);
        return undefined;
      },
      onAsked: async () => ({ here: true }),
    });
    await this.#server.listen();
  }

  cutOff(peer: string): Promise<void> {
    return this.#server?.cutOff(peer) ?? Promise.resolve();
  }

  hangUp(): void {
    this.#server?.hangUp();
  }

  endServer(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** What was not dropped. */
  send(...types: Message['type'][]): number {
    const asked = types.length === 0 ? (['Heartbeat'] as const) : types;
    const messages = asked.map((type) => messageOf(type, 'a_1', 'b_1', { term: 1 }));
    return messages.length - this.channel.send(messages).length;
  }

  get lost(): readonly boolean[] {
    return this.losses.map(({ isRefused }) => isRefused);
  }

  /** As a leader does, again and again. */
  async arrives(): Promise<void> {
    const before = this.received.length;
    await until(async () => {
      this.send();
      await sleep(50);
      return this.received.length > before ? true : undefined;
    });
  }

  close(): void {
    this.channel.close();
    this.endServer();
  }
}

/** A port whose connections stand and say nothing, as those of a process that is stopped. */
async function silentPort(port: number): Promise<{ server: Server; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    sockets.push(socket.pause());
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return { server, sockets };
}

test('a peer whose port was silent is reached once it answers, though old connections still hang', async () => {
  const way = new Way(await freePort());
  const { server, sockets } = await silentPort(way.port);
  try {
    way.send();
    await assert.rejects(way.channel.ask('Hello', {}), 'nobody answers');
    await until(() => (sockets.length > 0 && way.lost.length > 0 ? true : undefined));
    assert.deepEqual(new Set(way.lost), new Set([false]), 'it may only be slow');
    server.close();
    await way.serve();
    await way.arrives();
    assert.deepEqual(await way.channel.ask('Hello', {}), { here: true });
  } finally {
    for (const socket of sockets) socket.destroy();
    way.close();
  }
});

test('the first message to a peer is kept until its port has answered', async () => {
  const way = new Way(await freePort());
  await way.serve();
  try {
    assert.equal(way.send(), 1);
    await until(() => (way.received.length > 0 ? true : undefined));
    assert.equal(way.received[0]?.messages[0]?.type, 'Heartbeat');
  } finally {
    way.close();
  }
});

test('a process that has ended is told from one that is slow, and found when it is there again', async () => {
  const way = new Way(await freePort());
  await way.serve();
  try {
    await way.arrives();
    way.endServer();
    await until(() => (way.lost.includes(true) ? true : undefined));
    await until(async () => {
      await sleep(20);
      return way.send() > 0 ? undefined : true;
    });
    await way.serve();
    await way.arrives();
  } finally {
    way.close();
  }
});

test('a process that takes connections while it ends is looked at until its port is closed, though nothing is sent', async () => {
  const way = new Way(await freePort());
  await way.serve();
  try {
    await way.arrives();
    way.endServer();
    let seen = 0;
    const ending = createServer((socket) => {
      seen += 1;
      socket.destroy();
    });
    await new Promise<void>((done) => ending.listen(way.port, '127.0.0.1', done));
    await until(() => (seen > 1 ? true : undefined));
    ending.close();
    await until(() => (way.lost.includes(true) ? true : undefined));
  } finally {
    way.close();
  }
});

test('the connections of a member that was removed are ended, those of others stay', async () => {
  const way = new Way(await freePort());
  await way.serve();
  try {
    await way.arrives();
    await way.cutOff('c_1');
    await way.arrives();
    assert.deepEqual(way.lost, []);
    await way.cutOff('a_1');
    await until(() => (way.lost.length > 0 ? true : undefined));
  } finally {
    way.close();
  }
});

test('a heartbeat that is lost says nothing of what travels beside it', async () => {
  const way = new Way(await freePort());
  await way.serve();
  try {
    assert.equal(way.send('Append'), 1);
    for (let i = 0; i < 256; i++) way.send();
    const messages = [
      messageOf('Heartbeat', 'a_1', 'b_1', { term: 1 }),
      messageOf('Append', 'a_1', 'b_1', { term: 1 }),
    ];
    const dropped = way.channel.send(messages).map(({ type }) => type);
    assert.deepEqual(dropped, ['Heartbeat'], 'so many wait at most');
    await way.arrives();
    way.refuses = 'Heartbeat';
    way.send();
    await until(() => (way.losses.length > 0 ? true : undefined));
    assert.deepEqual(way.losses, [{ isRefused: false, hasBulk: false }]);
    way.refuses = 'Append';
    way.send('Append');
    await until(() => (way.losses.length > 1 ? true : undefined));
    assert.deepEqual(way.losses[1], { isRefused: false, hasBulk: true });
    way.refuses = undefined;
    await way.arrives();
    way.send('Append');
    await until(() => (way.received.at(-1)?.messages[0]?.type === 'Append' ? true : undefined));
    way.losses.length = 0;
    // As a member does that begins anew in place.
    way.hangUp();
    await until(() => (way.losses.some(({ hasBulk }) => hasBulk) ? true : undefined));
  } finally {
    way.close();
  }
});
