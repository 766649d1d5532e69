import { serverReadinessHAMaxLag, serverReadinessRequiresHA } from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { Log } from '#core/log.ts';
import type { ClusterView } from '../cluster-view.ts';

/** What readiness looks at beside the state of the server itself (ha.md 11.5). */
export class Readiness {
  readonly #view: ClusterView;
  readonly #settings: SettingsReader;
  readonly #log: Log;
  #isStopping = false;
  #keepsLead = false;
  #told: string | undefined;

  constructor(view: ClusterView, settings: SettingsReader, log: Log) {
    this.#view = view;
    this.#settings = settings;
    this.#log = log;
  }

  /** No more, whatever else holds: this server leaves or stops soon. */
  switchOff(): void {
    this.#isStopping = true;
  }

  /** All members stop together: whoever took the lead over would stop as well. */
  keepLead(): void {
    this.#keepsLead = true;
  }

  get keepsLead(): boolean {
    return this.#keepsLead;
  }

  switchOn(): void {
    this.#isStopping = false;
  }

  /** Whether `GET /ready` answers 204; the reason of another answer goes to the log when it changes. */
  isReady(): boolean {
    const reason = this.reason();
    if (reason !== this.#told) {
      this.#told = reason;
      if (reason === undefined) this.#log.info('ready');
      else this.#log.info(`not ready: ${reason}`);
    }
    return reason === undefined;
  }

  /** Undefined: it is ready. */
  reason(): string | undefined {
    if (this.#isStopping) return 'it is about to stop';
    const refusal = this.#view.bootstrapRefusal?.();
    if (refusal !== undefined) return refusal;
    if (!this.#settings.get(serverReadinessRequiresHA)) return undefined;
    const entering = this.#view.entering?.();
    if (entering !== undefined) return entering;
    const { consensus } = this.#view;
    const status = consensus.status();
    if (status.leader === undefined) return 'no leader is known';
    if (!status.admitted) return 'it is not admitted to the cluster';
    const { voters, learners } = status.configuration;
    const isMember = [...voters, ...learners].some(({ id }) => id === consensus.self);
    if (!isMember) return 'it is not in the configuration of the cluster';
    if (status.raftState === 'EXCEPTION') return 'the log is not applied any more';
    // What could not be fetched keeps the other databases from nobody; it is tried again.
    const installing = this.#view
      .databases()
      .find((now) => now.status === 'INSTALLING' && now.acquireStatus !== 'FAILED');
    if (installing !== undefined) return `database '${installing.name}' is being installed`;
    if (this.#view.lacksRoom?.() === true) return 'disk: the volume of the databases is full';
    const lag = status.commitIndex - this.#view.appliedIndex();
    const lagMax = this.#settings.get(serverReadinessHAMaxLag);
    if (status.role !== 'leader' && lag > lagMax)
      return `it is ${lag} entries behind (${lagMax} allowed)`;
    if (status.role === 'leader' && !status.leaderReady) return 'it leads, but not yet for clients';
    if (status.logState === 'FAILED' || status.logState === 'GAVE_UP')
      return 'the Raft log has failed';
    return undefined;
  }
}
