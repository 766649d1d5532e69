import type { PeerId } from '#raft/vocabulary.ts';
import type { PeerAddresses } from '../forwarding/peer-addresses.ts';
import type { PeerHttp } from '../forwarding/peer-http.ts';
import type { ClusterToken } from '../token/cluster-token.ts';

/** Has another server fetch a database anew (ha.md 5.11, 9.7). */
export class PeerResync {
  readonly #addresses: PeerAddresses;
  readonly #http: PeerHttp;
  readonly #token: ClusterToken;

  constructor(options: { addresses: PeerAddresses; http: PeerHttp; token: ClusterToken }) {
    this.#addresses = options.addresses;
    this.#http = options.http;
    this.#token = options.token;
  }

  /**
   * @param user in whose name it is asked
   * @returns why it did not begin
   */
  async begin(peer: PeerId, database: string, user: string): Promise<string | undefined> {
    const dial = this.#addresses.dial(peer);
    if (dial.kind === 'refused') return dial.reason;
    try {
      const { status, body } = await this.#http.askWhole(dial, {
        method: 'POST',
        path: `/api/v1/cluster/resync/${encodeURIComponent(database)}`,
        headers: {
          'content-type': 'application/json',
          'x-service-cluster-token': this.#token.value,
          'x-service-forwarded-user': encodeURIComponent(user),
        },
        body: Buffer.from('{}'),
      });
      // One that is under way already is as good.
      return status === 200 || status === 409 ? undefined : body.toString().slice(0, 300);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}
