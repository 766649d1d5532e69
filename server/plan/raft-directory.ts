import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { peerIn } from '#cluster/log-store/raft-directory.ts';
import { haRaftPersistStorage, haRaftStorageDirectory } from '#config/cluster-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { serverName } from '#config/server-settings.ts';
import type { PeerId } from '#raft/vocabulary.ts';

const shared = 'raft-storage';

/**
 * `<parent>/raft-storage-<nodeName>` (contract 3; ha.md 3.2). Where that is absent: `<parent>/raft-storage` (house decision 34), or
 * the one that this server had under an earlier name.
 */
export function raftDirectory(
  settings: SettingsReader,
  { root, self, warn }: { readonly root: string; readonly self: PeerId; warn(text: string): void },
): string {
  const set = settings.get(haRaftStorageDirectory);
  const parent = set === '' ? root : resolve(root, set);
  const node = settings.get(serverName).replaceAll(/[^A-Za-z0-9._-]/g, '_');
  const own = join(parent, `${shared}-${node}`);
  if (!settings.get(haRaftPersistStorage)) {
    warn(
      `${haRaftPersistStorage.key} is false: the Raft log is wiped at each start, and this server joins its cluster anew; a stop of all servers ends the cluster`,
    );
    return own;
  }
  if (existsSync(own) || !existsSync(parent)) return own;
  const plain = join(parent, shared);
  if (existsSync(plain) && (peerIn(plain) ?? self) === self) return plain;
  const earlier = readdirSync(parent)
    .filter((name) => name.startsWith(`${shared}-`))
    .map((name) => join(parent, name))
    .filter((directory) => peerIn(directory) === self);
  const [only, ...more] = earlier;
  if (only === undefined || more.length > 0) return own;
  warn(
    `${only} is the Raft directory of this server under an earlier name, and used: ${own} is not there`,
  );
  return only;
}
