import type { GroupAction } from '../api/decision.ts';

interface GroupRequest {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

const transferMs = 20_000;

/**
 * One change of the group, by the management calls of a member (contract document 3). `expectedConfigurationIndex` keeps an
 * operator with an old view from acting on it. Each may be repeated: who is a member already, or gone, is left as it is.
 * @throws MemberError
 */
export function changeGroup(
  action: GroupAction,
  call: (request: GroupRequest) => Promise<void>,
): Promise<void> {
  switch (action.kind) {
    case 'add-peer': {
      const { peerId, address, name, priority, index } = action;
      return call({
        method: 'POST',
        path: '/peer',
        body: {
          peerId,
          address,
          name,
          ...optional({ priority }),
          learner: true,
          ...expected(index),
        },
      });
    }
    case 'promote': {
      const [first = '', ...ids] = action.peerIds;
      const path = `/peer/${encodeURIComponent(first)}/promote`;
      return call({ method: 'POST', path, body: { ids, ...expected(action.index) } });
    }
    case 'remove-peer': {
      const query = new URLSearchParams();
      if (action.force) query.set('force', 'true');
      if (action.index !== undefined) query.set('expectedConfigurationIndex', String(action.index));
      const path = `/peer/${encodeURIComponent(action.peerId)}`;
      return call({ method: 'DELETE', path: query.size > 0 ? `${path}?${query}` : path });
    }
    case 'leave':
      return call({
        method: 'POST',
        path: `/leave${action.force ? '?force=true' : ''}`,
        body: expected(action.index),
      });
    case 'transfer':
      return call({
        method: 'POST',
        path: '/leader',
        body: { peerId: action.peerId, timeoutMs: transferMs },
      });
  }
}

function expected(index: number | undefined) {
  return optional({ expectedConfigurationIndex: index });
}

function optional(fields: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
