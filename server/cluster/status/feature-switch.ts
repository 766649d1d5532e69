import type { Log } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { FeaturePort } from '../cluster-view.ts';
import type { ConsensusPort } from '../consensus-port.ts';
import { capabilityOf } from '../features.ts';

const lookEveryMs = 1000;

export interface FeatureSwitchOptions {
  /** Of this build. */
  readonly features: readonly string[];
  readonly port: FeaturePort;
  readonly consensus: Pick<ConsensusPort, 'self' | 'status'>;
  /** What a member has told since this server leads; undefined: nothing. */
  readonly capabilitiesOf: (peer: PeerId) => readonly string[] | undefined;
  readonly timers: Pick<Timers, 'after'>;
  readonly log: Log;
}

/** The leader switches on what every member understands, learners too (ha.md 16 rule 1). */
export class FeatureSwitch {
  readonly #options: FeatureSwitchOptions;
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(options: FeatureSwitchOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.features.length === 0) return;
    this.#cancel = this.#options.timers.after(lookEveryMs, () => {
      void this.look().finally(() => {
        if (!this.#isClosed) this.start();
      });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async look(): Promise<void> {
    const { features, port, consensus, log } = this.#options;
    const { role, leaderReady } = consensus.status();
    if (role !== 'leader' || !leaderReady) return;
    const active = port.active();
    for (const feature of features) {
      if (active.includes(feature) || !this.#isUnderstood(feature)) continue;
      try {
        await port.activate(feature);
      } catch (error) {
        log.warn('a feature could not be switched on; it is tried again', {
          feature,
          reason: String(error),
        });
      }
    }
  }

  #isUnderstood(feature: string): boolean {
    const { consensus, capabilitiesOf } = this.#options;
    const { voters, votersOutgoing, learners, learnersNext } = consensus.status().configuration;
    const members = [...voters, ...learners].map(({ id }) => id);
    return [...members, ...votersOutgoing, ...learnersNext].every(
      (id) => id === consensus.self || capabilitiesOf(id)?.includes(capabilityOf(feature)) === true,
    );
  }
}
