import { HttpRefusal, badRequest } from '../answer/errors.ts';
import { object, refusal, text } from '../document/schemas.ts';
import type { Operation, Route } from './route.ts';

/*
 * The endpoints of a cluster (contract 3; http-api.md 19) on a server without replication: who may use them learns that it is
 * not enabled, everybody else what they always learn.
 */

const notEnabled = { 400: refusal('Replication is not enabled on this server') };

function clusterRoute(
  method: Route['method'],
  path: string,
  operation?: Pick<Operation, 'id' | 'summary'> & Partial<Operation>,
): Route {
  return {
    method,
    path,
    access: 'root',
    ...(operation && { operation: { ...operation, answers: notEnabled } }),
    handle: () => {
      throw badRequest('Raft HA is not enabled');
    },
  };
}

const peer = object(
  {
    peerId: text('<host>_<raftPort>'),
    address: text('<host>:<raftPort>:<httpPort>'),
    name: text(),
  },
  ['name'],
);

/** Endpoints between servers, which prove themselves by the cluster's token; no token is right here. */
function peerRoute(
  method: Route['method'],
  path: string,
  status: 401 | 403,
  operation?: Pick<Operation, 'id' | 'summary'>,
): Route {
  return {
    method,
    path,
    access: 'user',
    ...(operation && { operation: { ...operation, answers: {} } }),
    handle: () => {
      throw new HttpRefusal({ status, error: 'Cluster token required' });
    },
  };
}

export const documentedClusterRoutes: readonly Route[] = [
  clusterRoute('GET', '/cluster', {
    id: 'getClusterStatus',
    summary: 'Leader, members and their state',
  }),
  clusterRoute('POST', '/cluster/peer', {
    id: 'addClusterPeer',
    summary: 'Adds a member',
    body: peer,
    example: {
      body: { 'application/json': { peerId: 'node1_2434', address: 'node1:2434:2480' } },
    },
  }),
  clusterRoute('DELETE', '/cluster/peer/:peerId', {
    id: 'removeClusterPeer',
    summary: 'Removes a member',
  }),
  clusterRoute('POST', '/cluster/leader', {
    id: 'transferClusterLeadership',
    summary: 'Hands the lead to another member',
  }),
  clusterRoute('POST', '/cluster/stepdown', {
    id: 'stepDownLeader',
    summary: 'Lets the members elect another leader',
  }),
  clusterRoute('POST', '/cluster/leave', {
    id: 'leaveCluster',
    summary: 'Removes this server from the cluster',
  }),
  clusterRoute('POST', '/cluster/verify/:database', {
    id: 'verifyClusterDatabase',
    summary: 'Compares a database between the members',
  }),
  peerRoute('GET', '/ha/snapshot/:database', 401, {
    id: 'downloadSnapshot',
    summary: 'A copy of a database, for members that prove themselves by the token of the cluster',
  }),
];

/** As they are in ha.md 11.2 and between servers. */
export const otherClusterRoutes: readonly Route[] = [
  clusterRoute('POST', '/cluster/peer/:peerId/promote'),
  clusterRoute('POST', '/cluster/prepare-stop'),
  clusterRoute('POST', '/cluster/resync/:database'),
  peerRoute('POST', '/cluster/auth-session', 403),
];
