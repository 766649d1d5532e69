import { rootPasswordKey } from '../../api/names.ts';
import { isReady } from '../../resources/pod-state.ts';
import { lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Step } from '../pass.ts';

/**
 * A changed root Secret changes the password of the running member (operator.md 8.14); pods are not restarted, since the
 * start-up value only matters on an empty volume. The last applied value is remembered to log in with.
 */
export const rotateRootPassword: Step = (pass, draft) => {
  const { seen, spec, names, group } = pass;
  const { root, applied } = seen.secrets;
  // Users are the same everywhere: the leader takes the change, the others follow.
  const member = group.leader ?? seen.members.find(({ pod }) => isReady(pod));
  if (root === undefined || root.hash === applied?.hash || !isReady(member?.pod)) return undefined;
  const refusal = rejectionOf(pass, draft, 'set-root-password');
  const about = seen.rejections.get('set-root-password')?.about ?? root.hash;
  if (refusal !== undefined && about === root.hash) {
    stall(draft, 'PermissionDenied', refusal);
    return undefined;
  }
  if (applied !== undefined)
    note(draft, 'RootPasswordChanged', `the password of Secret ${root.secretName} takes effect`);
  lookAgain(draft, 0);
  const { secretName, key } = spec.auth.rootPassword ?? {
    secretName: names.root,
    key: rootPasswordKey,
  };
  return { action: { kind: 'set-root-password', ordinal: member?.ordinal ?? 0, secretName, key } };
};
