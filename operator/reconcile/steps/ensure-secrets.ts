import {
  annotationKeys,
  ownedLabels,
  rootPasswordKey,
  rootPasswordLength,
  tokenKey,
  tokenLength,
  volumeIdentityKey,
} from '../../api/names.ts';
import { parseMembersRecord, membersFile } from '../../resources/members-record.ts';
import { hasPods, lookAgain, stall } from '../pass.ts';
import type { Pass, Step, StepEnd } from '../pass.ts';
import type { SecretValue } from '../../api/decision.ts';

const passwordLength = { min: 8, max: 256 } as const;

/**
 * Root password and token exist before any pod does. A Secret that is there is only read, whoever made it: a password that
 * changed behind the back of the data would lock everybody out.
 */
export const ensureSecrets: Step = (pass, draft) => {
  const { seen, spec, names } = pass;
  const { root, token } = seen.secrets;
  if (spec.auth.rootPassword === undefined && root === undefined)
    return create(pass, names.root, { [rootPasswordKey]: newPassword(pass) });
  if (token?.volumeIdentity === undefined) {
    if (token !== undefined) {
      stall(draft, 'SecretMissing', `Secret ${names.token} has no key ${volumeIdentityKey}`);
      return {};
    }
    const known = parseMembersRecord(seen.membersRecord?.data?.[membersFile])?.clusterId;
    return create(pass, names.token, {
      [tokenKey]: { random: tokenLength },
      [volumeIdentityKey]: known === undefined ? { uuid: true } : { text: known },
    });
  }
  if (root === undefined) {
    const { secretName, key } = spec.auth.rootPassword ?? {
      secretName: names.root,
      key: rootPasswordKey,
    };
    stall(
      draft,
      'SecretMissing',
      `spec.auth.rootPassword: there is no Secret ${secretName} with the key ${key} in this namespace`,
    );
    lookAgain(draft, 10_000);
    // A running member does not need it again; a new one would not start.
    return hasPods(pass) ? undefined : {};
  }
  const { lengthInCharacters } = root;
  if (lengthInCharacters < passwordLength.min || lengthInCharacters > passwordLength.max) {
    stall(
      draft,
      'InvalidSpec',
      `the root password in Secret ${root.secretName} has ${lengthInCharacters} characters: ${passwordLength.min} to ${passwordLength.max} are allowed`,
    );
    return hasPods(pass) ? undefined : {};
  }
  return undefined;
};

/** A Secret that somebody deleted comes back with the password that the member has. */
function newPassword({ seen, names }: Pass): SecretValue {
  return seen.secrets.applied === undefined
    ? { random: rootPasswordLength }
    : { copyOf: { secretName: names.rootApplied, key: rootPasswordKey } };
}

function create(pass: Pass, name: string, fill: Readonly<Record<string, SecretValue>>): StepEnd {
  return {
    action: {
      kind: 'create-secret',
      name,
      labels: ownedLabels(pass.cluster.metadata.name),
      annotations: { [annotationKeys.generatedFor]: pass.cluster.metadata.uid ?? '' },
      fill,
    },
  };
}
