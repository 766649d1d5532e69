import type { LabelledCounts } from '#core/instruments.ts';
import type { PeerAddresses } from './forwarding/peer-addresses.ts';
import type { PeerHttp } from './forwarding/peer-http.ts';
import type { Forwarder } from './forwarding/forwarder.ts';
import type { ClusterManagement } from './management/management.ts';
import type { ClusterVerify } from './management/verify.ts';
import type { CaughtUp } from './reads/caught-up.ts';
import type { ReadBarrier } from './reads/read-barrier.ts';
import type { ClusterStatusReport } from './status/status-report.ts';
import type { Readiness } from './status/readiness.ts';
import type { ClusterToken } from './token/cluster-token.ts';
import type { ClusterView } from './cluster-view.ts';

/** What the doors of a server in a cluster use of it; `open-door.ts` puts it together. */
export interface ClusterDoor {
  readonly view: ClusterView;
  readonly token: ClusterToken;
  readonly addresses: PeerAddresses;
  /** Connections to other servers. */
  readonly http: PeerHttp;
  readonly reads: ReadBarrier;
  readonly caughtUp: CaughtUp;
  readonly forwarder: Forwarder;
  readonly report: ClusterStatusReport;
  readonly management: ClusterManagement;
  readonly verify: ClusterVerify;
  readonly readiness: Readiness;
  /** Capabilities of this build, sorted. */
  readonly capabilities: readonly string[];
  /** Bytes of archives that went to other servers, by receiver. */
  readonly snapshotBytes: LabelledCounts;
  /** Formats that this build reads and writes. */
  readonly formatVersions: object;
  /** Settings that must be the same on all servers. */
  readonly sharedSettings: Readonly<Record<string, string>>;
  close(): void;
}
