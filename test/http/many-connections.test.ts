import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import type { Timers } from '#core/runtime.ts';
import { ConnectionGate } from '#http/connection/gate.ts';
import { stoppedTimers } from '../security/fixtures.ts';

// What many connections without a request cost in each turn of the event loop, counted in looks at them (limits.md 26 and 33).

/** A connection that sends nothing, and counts how often that is looked at. */
class SilentSocket extends EventEmitter {
  static looks = 0;
  readonly writable = true;
  destroyed = false;
  pauses = 0;

  get bytesRead(): number {
    SilentSocket.looks += 1;
    return 0;
  }

  pause(): void {
    this.pauses += 1;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** A gate whose timers run when the test says so. */
function makeGate() {
  const due: (() => void)[] = [];
  const timers: Timers = {
    ...stoppedTimers,
    after(_delayMs, run) {
      due.push(run);
      return () => due.splice(due.indexOf(run), 1);
    },
  };
  const gate = new ConnectionGate(() => assert.fail('nobody asks'), {
    settings: new Settings(),
    timers,
    refuseHeaders: () => assert.fail('nobody is refused'),
  });
  const server = new EventEmitter();
  gate.attach(server as Server, 'connection');
  const open = (count: number): SilentSocket[] => {
    const sockets = Array.from({ length: count }, () => new SilentSocket());
    for (const socket of sockets) server.emit('connection', socket);
    return sockets;
  };
  /** One turn of the timers. @returns the looks that it took */
  const turn = (): number => {
    SilentSocket.looks = 0;
    for (const run of due.splice(0)) run();
    return SilentSocket.looks;
  };
  return { gate, open, turn };
}

test('a thousand further connections beside ten thousand idle ones: only they are looked at, later all in slices', () => {
  const { gate, open, turn } = makeGate();
  const idle = open(10_000);
  const slices = Array.from({ length: 6 }, turn);
  assert.deepEqual(slices, [2000, 2000, 2000, 2000, 2000, 2000]);

  SilentSocket.looks = 0;
  const further = open(1000);
  assert.ok(SilentSocket.looks <= 1000, `${SilentSocket.looks} looks at 1,000 newcomers`);
  // As many as are allowed: those that are idle longest went, one for each newcomer.
  assert.equal(gate.connectionCount, 10_000);
  assert.equal(gate.busyCount, 0);
  assert.equal(
    idle.findIndex(({ destroyed }) => !destroyed),
    1000,
  );

  const later = Array.from({ length: 12 }, turn);
  assert.ok(Math.max(...later) <= 2000, `${later} looks, turn by turn`);
  assert.ok(Math.min(...later) > 0, 'everybody is looked at again and again');
  for (const { pauses } of [...idle, ...further]) assert.equal(pauses, 0);
});
