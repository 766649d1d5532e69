import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ClusterView } from '#cluster/cluster-view.ts';
import { parseDialMap } from '#cluster/forwarding/peer-addresses.ts';
import { openClusterDoor } from '#cluster/open-door.ts';
import {
  type ClusterToken,
  openClusterToken,
  watchTokenFile,
} from '#cluster/token/cluster-token.ts';
import type { Settings } from '#config/effective-settings.ts';
import { serverMode, serverReloadEvery, serverRootPassword } from '#config/server-settings.ts';
import type { StopStep } from '#control/server-control.ts';
import type { DatabasesPort } from '#database/session.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Users } from '#security/users.ts';
import { version } from './version.ts';
import type { Ground } from './ground.ts';
import type { Security } from './security.ts';

/* What the doors of a server in a cluster get of it; loaded with `service.ha.enabled=true` only. */

const handOverMs = 20_000;

/** The secret between servers. @throws DatabaseError `InvalidSetting` when there is nothing to make it of */
export async function openToken(
  { settings, events }: Ground,
  { derivation, users }: Security,
): Promise<ClusterToken> {
  const warn = (text: string) => events.report('WARNING', 'HA', text);
  const token = await openClusterToken(settings, {
    environment: process.env,
    derivation,
    warn,
  });
  watchTokenFile(token, settings, {
    timers: systemRuntime.timers,
    everyMs: settings.get(serverReloadEvery),
  });
  if (token.source !== 'derived') return token;
  if (settings.get(serverMode) === 'production')
    warn('the cluster token is derived from the root password; set service.ha.clusterToken');
  users.onRevoked((name) => {
    if (name === 'root') void warnOfOtherPassword(users, settings, warn);
  });
  return token;
}

/** The first leader's users hold the same password under another salt: that is no change. */
async function warnOfOtherPassword(
  users: Users,
  settings: Settings,
  warn: (text: string) => void,
): Promise<void> {
  if (await users.hasPassword('root', settings.get(serverRootPassword))) return;
  warn(
    'the root password was changed: the derived cluster token stays as it was until servers start anew',
  );
}

/** @param ports where the doors listen; asked when others are dialled */
export function openDoorOfCluster(
  { settings, log }: Ground,
  { tokens, authenticator }: Security,
  {
    view,
    token,
    databases,
    ports,
  }: {
    readonly view: ClusterView;
    readonly token: ClusterToken;
    readonly databases: DatabasesPort;
    readonly ports: () => { readonly http: number; readonly https: number | undefined };
  },
): Promise<ClusterDoor> {
  return openClusterDoor({
    view,
    token,
    settings,
    runtime: systemRuntime,
    log,
    ownPorts: ports,
    version,
    dialMap: parseDialMap(process.env['POLYAD_DIAL_MAP']),
    databaseNames: () => databases.names(),
    endSessions: () => databases.endAllSessions(),
    catchUpLogins: (caughtUp) => authenticator.catchUpBy(caughtUp),
    shareTokens: (remote) => tokens.shareWith(remote),
  });
}

/** Before requests are waited for: a leader that stops hands over, so that nobody waits for an election (ha.md 12.4). */
export function handOverStep({
  view,
  readiness,
}: Pick<ClusterDoor, 'view' | 'readiness'>): StopStep {
  return {
    name: 'leadership',
    run: async () => {
      readiness.switchOff();
      const { consensus } = view;
      if (consensus.status().role === 'leader' && !readiness.keepsLead)
        await consensus.transferLeadership(undefined, handOverMs);
    },
  };
}
