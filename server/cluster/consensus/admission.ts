import type { Runtime } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { MembershipChange, MembershipChanged } from '../consensus-port.ts';

const joinPauseMs = 1000;
/** Pauses without a leader between two requests of a member that may have left. */
const joinAgainEvery = 5;

export interface AdmissionPort {
  readonly timers: Pick<Runtime['timers'], 'sleep'>;
  readonly joinsByItself: boolean;
  isRunning(): boolean;
  isAdmitted(): boolean;
  hasLeader(): boolean;
  /** Takes part, if the configuration names this disk. @returns whether it does */
  admitIfNamed(): Promise<boolean>;
  /** This server as a member. */
  change(kind: 'add' | 'replace', voter: boolean): MembershipChange;
  /** Members and those that are declared. */
  others(): Iterable<PeerId>;
  ask(id: PeerId, change: MembershipChange): Promise<MembershipChanged>;
  report(text: string): void;
}

/** How a server that is no member, or may be none any more, gets into the group by itself. */
export class Admission {
  readonly #port: AdmissionPort;
  #told = '';

  constructor(port: AdmissionPort) {
    this.#port = port;
  }

  /** Returns when there is nothing left to ask for. */
  async seek(): Promise<void> {
    if (!this.#port.isAdmitted()) await this.#join();
    else if (this.#port.joinsByItself) await this.#joinAgain();
  }

  /** An empty or replaced disk asks to be taken in (ha.md 8.2 rule 2). */
  async #join(): Promise<void> {
    const { timers, joinsByItself } = this.#port;
    for (;;) {
      await timers.sleep(joinPauseMs);
      if (!this.#port.isRunning() || this.#port.isAdmitted()) return;
      if (await this.#port.admitIfNamed()) return;
      // Whether this is a member, and has a vote, the leader knows: the configuration here may be an old one.
      this.#ask(joinsByItself ? 'add' : 'replace', joinsByItself);
    }
  }

  /**
   * A member that left before its stop keeps its log, and learns from nobody that it is none any more: nobody sends it anything
   * (ha.md 14.3). For a member that is one nothing changes.
   */
  async #joinAgain(): Promise<void> {
    for (let i = 0; ; i++) {
      await this.#port.timers.sleep(joinPauseMs);
      if (!this.#port.isRunning() || this.#port.hasLeader()) return;
      if (i % joinAgainEvery === joinAgainEvery - 1) this.#ask('add', true);
    }
  }

  /** Who is asked and does not lead passes it on. */
  #ask(kind: 'add' | 'replace', voter: boolean): void {
    const change = this.#port.change(kind, voter);
    for (const id of this.#port.others())
      this.#port.ask(id, change).then(
        (answer) => this.#heard(answer),
        () => {},
      );
  }

  /** It is asked again and again, until somebody upgrades this server or stops it. */
  #heard(answer: MembershipChanged): void {
    if (answer.kind !== 'refused' || answer.reason !== 'lacks-feature') return;
    if (answer.detail === this.#told) return;
    this.#told = answer.detail;
    this.#port.report(`This server is not taken in: ${answer.detail}`);
  }
}
