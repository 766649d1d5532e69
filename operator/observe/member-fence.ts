import type { MemberTransport } from './database-client.ts';

/** Posted, and changes nothing; of the rest of what is posted nobody can tell by its path. */
const loginPath = '/api/v1/login';

/**
 * Holds back every change of a member, its group, settings, password, backups and databases, of a process that may not act any
 * more (operator.md 9.7), as `kubernetes/fence.ts` does for writes to Kubernetes. To ask is allowed to all.
 */
export function fencedMembers(members: MemberTransport, mayWrite: () => boolean): MemberTransport {
  return {
    send: (address, request) =>
      request.method === 'GET' || request.path === loginPath || mayWrite()
        ? members.send(address, request)
        : Promise.reject(new Error('held back: this process does not hold the lease')),
  };
}
