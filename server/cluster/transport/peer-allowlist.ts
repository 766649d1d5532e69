import { isIP } from 'node:net';
import type { Cancel, Runtime } from '#core/runtime.ts';

export interface AllowlistPort {
  readonly runtime: Runtime;
  readonly refreshMs: number;
  readonly graceMs: number;
  readonly stickyMs: number;
  /** Hosts of the server list and of members, as they are now. */
  hosts(): readonly string[];
  /** The name of the service of all pods (house decision 37): whoever it leads to may ask to join, listed or not. */
  readonly headless?: string | undefined;
  /** All addresses of a host. @throws Error when it has none */
  resolve(host: string): Promise<readonly string[]>;
  warn(text: string): void;
}

interface Resolved {
  readonly addresses: ReadonlySet<string>;
  readonly atMs: number;
}

const missRefreshMs = 1000;
const warnEveryMs = 30_000;

/**
 * Which addresses may connect to the Raft port (contract 3, Authentication 3; ha.md 4.4): those of the hosts that are known, and
 * loopback. Until every host has resolved once, and for a while only, a stranger is let in with a warning.
 */
export class PeerAllowlist {
  readonly #port: AllowlistPort;
  readonly #resolved = new Map<string, Resolved>();
  readonly #startMs: number;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #warnedMs = Number.NEGATIVE_INFINITY;
  #isStrict = false;
  #refreshing: Promise<void> | undefined;
  #stop: Cancel = () => {};

  constructor(port: AllowlistPort) {
    this.#port = port;
    this.#startMs = this.#nowMs();
    this.#isStrict = port.graceMs === 0;
  }

  /** Looks hosts up again and again: every second until all had an address, at leisure later. */
  watch(): void {
    void this.refresh().then(() => {
      const everyMs = this.#hasAll() ? this.#port.refreshMs : missRefreshMs;
      this.#stop = this.#port.runtime.timers.after(everyMs, () => this.watch());
    });
  }

  close(): void {
    this.#stop();
  }

  /** Waits for a look-up only when the address is unknown and the last one is old. */
  async admits(remote: string | undefined): Promise<boolean> {
    const address = plainAddress(remote ?? '');
    if (isLoopback(address) || this.#isKnown(address)) return true;
    const floorMs = Math.min(this.#port.refreshMs, missRefreshMs);
    if (this.#nowMs() - this.#refreshedMs >= floorMs) {
      await this.refresh();
      if (this.#isKnown(address)) return true;
    }
    const isOpen = this.#isInGrace();
    this.#warn(address, isOpen);
    return isOpen;
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#lookUp().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #lookUp(): Promise<void> {
    const { headless } = this.#port;
    const hosts = new Set(this.#port.hosts().map((host) => host.replace(/^\[(.*)\]$/, '$1')));
    if (headless !== undefined) hosts.add(headless);
    // A host that was removed is cut off at once; one that does not resolve keeps what it had for a while.
    for (const host of this.#resolved.keys()) if (!hosts.has(host)) this.#resolved.delete(host);
    await Promise.all(
      [...hosts].map(async (host) => {
        try {
          const found = isIP(host) === 0 ? await this.#port.resolve(host) : [host];
          const addresses = new Set(found.map(plainAddress));
          this.#resolved.set(host, { addresses, atMs: this.#nowMs() });
        } catch {
          const known = this.#resolved.get(host);
          if (known !== undefined && this.#nowMs() - known.atMs > this.#port.stickyMs)
            this.#resolved.set(host, { addresses: new Set(), atMs: known.atMs });
        }
      }),
    );
    this.#refreshedMs = this.#nowMs();
  }

  #isKnown(address: string): boolean {
    for (const { addresses } of this.#resolved.values()) if (addresses.has(address)) return true;
    return false;
  }

  #hasAll(): boolean {
    return this.#port.hosts().every((host) => this.#resolved.has(host.replace(/^\[(.*)\]$/, '$1')));
  }

  /** Once over, never again. */
  #isInGrace(): boolean {
    if (this.#hasAll() || this.#nowMs() - this.#startMs >= this.#port.graceMs)
      this.#isStrict = true;
    return !this.#isStrict;
  }

  #warn(address: string, isLetIn: boolean): void {
    if (this.#nowMs() - this.#warnedMs < warnEveryMs) return;
    this.#warnedMs = this.#nowMs();
    this.#port.warn(
      isLetIn
        ? `Raft connection from ${address}, which is no address of a known server: let in, since not every server has been looked up yet`
        : `Raft connection from ${address} refused: no server of service.ha.serverList has this address`,
    );
  }

  #nowMs(): number {
    return this.#port.runtime.clock.monotonicMs();
  }
}

/** IPv4 addresses in IPv6 clothes are IPv4. */
function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/, '').toLowerCase();
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1] ?? bare;
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address);
}
