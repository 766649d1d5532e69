import { openApiGet } from './document/openapi.ts';
import { apiTokensDelete, apiTokensGet, apiTokensPost } from './routes/api-tokens.ts';
import { batchPost } from './routes/batch.ts';
import { clusterRoutes } from './routes/cluster.ts';
import { documentedPeerRoutes, otherPeerRoutes } from './routes/cluster-peers.ts';
import { databasesGet, existsGet, missingDatabaseRoutes, progressGet } from './routes/databases.ts';
import { groupsDelete, groupsGet, groupsPost } from './routes/groups.ts';
import { healthGet, healthHead, readyGet, readyHead } from './routes/health.ts';
import type { Route } from './routes/route.ts';
import {
  operationsDelete,
  operationsGet,
  statementsDelete,
  statementsGet,
} from './routes/running.ts';
import { serverGet, serverPost } from './routes/server.ts';
import { login, logout, sessionsGet } from './routes/sessions.ts';
import { commandPost, queryGet, queryGetWithoutCommand, queryPost } from './routes/statements.ts';
import { startPage } from './routes/start-page.ts';
import { begin, commit, rollback } from './routes/transactions.ts';
import { usersByPath, usersDelete, usersGet, usersPost, usersPut } from './routes/users.ts';

/** Routes that the OpenAPI document describes. */
export const documentedRoutes: readonly Route[] = [
  readyGet,
  healthGet,
  serverGet,
  serverPost,
  databasesGet,
  existsGet,
  progressGet,
  login,
  logout,
  sessionsGet,
  queryGet,
  queryPost,
  commandPost,
  begin,
  commit,
  rollback,
  batchPost,
  usersGet,
  usersPost,
  usersPut,
  usersDelete,
  groupsGet,
  groupsPost,
  groupsDelete,
  statementsGet,
  statementsDelete,
  operationsGet,
  operationsDelete,
  apiTokensGet,
  apiTokensPost,
  apiTokensDelete,
  ...clusterRoutes,
  ...documentedPeerRoutes,
];

const undocumentedRoutes: readonly Route[] = [
  readyHead,
  healthHead,
  startPage,
  ...missingDatabaseRoutes,
  queryGetWithoutCommand,
  ...usersByPath,
  ...otherPeerRoutes,
];

/** Every route of the HTTP door; its OpenAPI document tells of those of doors above, too. */
export function routesWith(mounted: readonly Route[]): readonly Route[] {
  return [
    ...documentedRoutes,
    openApiGet([...documentedRoutes, ...mounted]),
    ...undocumentedRoutes,
  ];
}

/** Those of a door that nothing stands upon. */
export const allRoutes: readonly Route[] = routesWith([]);
