import { apiTokens } from './routes/api-tokens.ts';
import { clusterPeers } from './routes/cluster-peers.ts';
import { cluster } from './routes/cluster.ts';
import { databases } from './routes/databases.ts';
import { groups } from './routes/groups.ts';
import { health } from './routes/health.ts';
import type { Resource } from './routes/resource.ts';
import { running } from './routes/running.ts';
import { server } from './routes/server.ts';
import { sessions } from './routes/sessions.ts';
import { users } from './routes/users.ts';

/** What the door offers beside the lean routes, below `/api/v1`. */
export const resources: readonly Resource[] = [
  health,
  server,
  databases,
  sessions,
  users,
  groups,
  running,
  apiTokens,
  cluster,
  clusterPeers,
];
