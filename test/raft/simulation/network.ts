import type { Message } from '#raft/message.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { Faults } from './options.ts';

interface UnderWay {
  readonly at: number;
  readonly order: number;
  readonly message: Message;
}

const remembered = 200;
const underWayMax = 20_000;

/** Links of one direction each: late, lost, doubled, cut, and messages of long ago. */
export class Network {
  readonly #random: (n: number) => number;
  readonly #delayTicksMax: number;
  #underWay: UnderWay[] = [];
  #order = 0;
  readonly #cut = new Map<string, number>();
  readonly #past: Message[] = [];

  constructor(random: (n: number) => number, delayTicksMax: number) {
    this.#random = random;
    this.#delayTicksMax = delayTicksMax;
  }

  send(message: Message, now: number, faults: Faults): void {
    if (this.#random(10_000) < faults.drop) return;
    this.#put(message, now);
    if (this.#random(10_000) < faults.duplicate) this.#put(message, now + this.#random(30));
    if (faults.replay === 0) return;
    if (this.#past.length < remembered) this.#past.push(message);
    else if (this.#random(10) === 0) this.#past[this.#random(remembered)] = message;
    const old = this.#past[this.#random(this.#past.length)];
    if (old !== undefined && this.#random(10_000) < faults.replay) this.#put(old, now);
  }

  #put(message: Message, now: number): void {
    if (this.#underWay.length >= underWayMax) throw new Error('S13: a storm of messages');
    this.#order += 1;
    const at = now + 1 + this.#random(this.#delayTicksMax + 1);
    this.#underWay.push({ at, order: this.#random(4) * 1e9 + this.#order, message });
  }

  /** What arrives now; ties are broken by the seed, not by the order of sending. */
  due(now: number): readonly Message[] {
    const due = this.#underWay.filter(({ at }) => at <= now);
    if (due.length > 0) this.#underWay = this.#underWay.filter(({ at }) => at > now);
    due.sort((a, b) => a.at - b.at || a.order - b.order);
    return due.flatMap(({ message }) =>
      (this.#cut.get(`${message.from}>${message.to}`) ?? 0) > now ? [] : [message],
    );
  }

  cut(from: PeerId, to: PeerId, until: number): void {
    this.#cut.set(`${from}>${to}`, until);
  }

  isCut(from: PeerId, to: PeerId, now: number): boolean {
    return (this.#cut.get(`${from}>${to}`) ?? 0) > now;
  }

  heal(ids: readonly PeerId[]): void {
    for (const from of ids) for (const to of ids) this.#cut.delete(`${from}>${to}`);
  }
}
