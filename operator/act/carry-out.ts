import { applyTarget } from '../api/decision.ts';
import type { Action, GroupAction, ObjectReference, SecretValue } from '../api/decision.ts';
import type { KubernetesObject, Secret } from '../api/kubernetes-object.ts';
import {
  annotationKeys,
  fieldManagers,
  objectNames,
  ownedLabels,
  rootPasswordKey,
  tokenKey,
} from '../api/names.ts';
import type { Observation } from '../api/observation.ts';
import { objectKey } from '../api/observation.ts';
import { parseSpec } from '../api/cluster.ts';
import { codeOf, KubernetesError } from '../kubernetes/kubernetes-error.ts';
import type { ObjectName } from '../kubernetes/port.ts';
import type { KindName } from '../kubernetes/resource-kinds.ts';
import { MemberError } from '../observe/database-client.ts';
import type { Member } from '../observe/database-client.ts';
import { firstLine, hashOf, secretText, tokenLines } from '../observe/observe-cluster.ts';
import { memberOf } from '../observe/member-address.ts';
import { mcpHash } from '../resources/mcp-config.ts';
import { backupHash } from '../resources/member-needs.ts';
import { contentHash } from '../resources/content-hash.ts';
import { incarnationOf } from '../resources/pod-state.ts';
import { ownerReference } from '../resources/owner.ts';
import { settingsByClass } from '../resources/restart-inputs.ts';
import type { ClusterMemory } from './cluster-memory.ts';
import type { Actors } from './actors.ts';
import { changeGroup } from './change-group.ts';
import { issueCertificate } from './issue-certificate.ts';
import { isLasting, Refusals } from './refusal.ts';
import { isOwnKind } from './kinds/kind-controller.ts';
import { setFinalizer } from './set-finalizer.ts';
import { takeOver } from './take-over.ts';

interface Task {
  readonly seen: Observation;
  readonly memory: ClusterMemory;
  readonly actors: Actors;
}

/**
 * Brings one action about. Everything may be repeated: applies are idempotent, deletions name the uid they mean, Secrets are
 * only ever made.
 * @throws KubernetesError, MemberError
 */
export async function carryOut(action: Action, task: Task): Promise<void> {
  const { actors, seen } = task;
  const { namespace } = seen.cluster.metadata;
  switch (action.kind) {
    case 'apply':
      return applyAll(action.objects, task);
    case 'create':
      return createOnce(action.object, task);
    case 'create-secret':
      return createSecret(action, task);
    case 'issue-certificate':
      return issueCertificate(action, task);
    case 'set-token':
      return setToken(action, task);
    case 'set-finalizer':
      return setFinalizer(action.isPresent, seen.cluster, actors);
    case 'label':
      return patch(task, nameOf(action.target, namespace), {
        metadata: {
          uid: action.target.uid,
          labels: action.labels,
          ...(action.annotations && { annotations: action.annotations }),
        },
      });
    case 'take-over':
      return takeOver(
        nameOf(action.target, namespace),
        { uid: action.target.uid, cluster: seen.cluster.metadata.name },
        actors,
      );
    case 'grow-claim':
      return patch(task, nameOf(action.target, namespace), {
        metadata: {
          uid: action.target.uid,
          annotations: { [annotationKeys.askedSize]: action.size },
        },
        spec: { resources: { requests: { storage: action.size } } },
      });
    case 'delete':
      return actors.api.delete(nameOf(action.target, namespace), {
        uid: action.target.uid,
        propagation: action.propagation,
        gracePeriodSeconds: action.gracePeriodSeconds,
      });
    case 'evict':
      return actors.api.evict(nameOf(action.target, namespace), action.target.uid);
    default:
      return tellMember(action, task);
  }
}

function nameOf({ kind, name }: ObjectReference, namespace: string | undefined): ObjectName {
  return { kind: kind as KindName, namespace, name };
}

/** @throws Refusals of those that were refused for good, once all the others are there */
async function applyAll(objects: readonly KubernetesObject[], task: Task): Promise<void> {
  const refused = new Map<string, KubernetesError>();
  for (const object of objects) {
    const target = applyTarget(object);
    try {
      await applyObject(object, task);
      task.memory.noteAccepted(target);
    } catch (error) {
      if (!(error instanceof KubernetesError) || !isLasting(error, 'apply')) throw error;
      refused.set(target, error);
    }
  }
  if (refused.size > 0) throw new Refusals(refused);
}

async function applyObject(
  object: KubernetesObject,
  { actors, memory, seen }: Task,
): Promise<void> {
  const key = objectKey(object);
  // With the uid of the one that was seen, so that an apply cannot bring back what was just deleted.
  const uid = seen.objects.get(key)?.metadata.uid;
  const sent = uid === undefined ? object : { ...object, metadata: { ...object.metadata, uid } };
  const answer = await actors.api.apply(sent, { manager: fieldManagers.objects });
  memory.noteApplied(key, object.metadata.annotations?.[annotationKeys.appliedHash] ?? '', answer);
  actors.reader.noteWritten(answer);
}

async function patch({ actors }: Task, target: ObjectName, body: object): Promise<void> {
  const answer = await actors.api.mergePatch(target, body, fieldManagers.objects);
  actors.reader.noteWritten(answer);
}

function inNamespace(name: string, namespace: string | undefined) {
  return namespace === undefined ? { name } : { name, namespace };
}

async function createOnce(object: KubernetesObject, { actors }: Task): Promise<void> {
  try {
    const made = await actors.api.create(object);
    // A kind with looks of its own begins them when its watch brings something new: what was noted before is no news.
    if (!isOwnKind(object.kind)) actors.reader.noteWritten(made);
  } catch (error) {
    // Somebody was faster, or an answer was lost: the one that is there counts.
    if (codeOf(error) !== 409) throw error;
  }
}

async function createSecret(
  action: Extract<Action, { kind: 'create-secret' }>,
  task: Task,
): Promise<void> {
  const { seen, actors } = task;
  const data: Record<string, string> = {};
  for (const [key, value] of Object.entries(action.fill))
    data[key] = encode(await fill(value, task));
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...inNamespace(action.name, seen.cluster.metadata.namespace),
      labels: action.labels,
      annotations: action.annotations,
    },
    data,
  };
  try {
    actors.reader.noteWritten(await actors.api.create(secret));
  } catch (error) {
    // Somebody was faster; theirs counts, and the next look reads it.
    if (codeOf(error) !== 409) throw error;
  }
}

async function fill(value: SecretValue, task: Task): Promise<string> {
  const { random } = task.actors.runtime;
  if ('random' in value) return random.secret(value.random);
  if ('uuid' in value) return random.uuid();
  if ('text' in value) return value.text;
  const { secretName, key } = value.copyOf;
  const copied = await readPassword(task, secretName, key);
  if (copied === undefined) throw new MemberError(0, `Secret ${secretName} is gone`);
  return copied;
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** The Secret that members read their token from. Its lines are found again by their hashes: no decision holds a token. */
async function setToken(
  { name, lines }: Extract<Action, { kind: 'set-token' }>,
  { seen, actors }: Task,
): Promise<void> {
  const { metadata } = seen.cluster;
  const { spec } = parseSpec(seen.cluster);
  const names = objectNames(metadata.name);
  const given = spec?.auth.clusterToken ?? { secretName: names.token, key: tokenKey };
  const read = async (secretName: string) =>
    (await actors.reader.getGiven(metadata.namespace, secretName)) as Secret | undefined;
  const wanted = firstLine(await read(given.secretName), given.key);
  const known = [...tokenLines(await read(name)), ...(wanted === undefined ? [] : [wanted])];
  const texts = lines.map((hash) => known.find((line) => hashOf(line) === hash));
  // Another look knows what is there now.
  if (texts.includes(undefined))
    throw new MemberError(0, 'the cluster token has changed meanwhile');
  const since = new Date(actors.runtime.clock.now()).toISOString();
  const answer = await actors.api.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        ...inNamespace(name, metadata.namespace),
        labels: ownedLabels(metadata.name),
        annotations: { [annotationKeys.tokenSince]: since },
        ownerReferences: [ownerReference(seen.cluster)],
      },
      data: { [tokenKey]: encode(texts.join('\n')) },
    } as Secret,
    { manager: fieldManagers.objects },
  );
  actors.reader.noteWritten(answer);
}

/** Actions on the running member, with the password that it is known to take. */
async function tellMember(
  action: Extract<
    Action,
    {
      kind:
        | 'set-root-password'
        | 'set-settings'
        | 'set-backup-config'
        | 'change-mcp-config'
        | 'back-up'
        | 'verify'
        | GroupAction['kind'];
    }
  >,
  task: Task,
): Promise<void> {
  const { seen, actors, memory } = task;
  const { spec } = parseSpec(seen.cluster);
  const pod = seen.members[action.ordinal]?.pod;
  const member = memberOf(pod, { ...seen, spec });
  if (spec === undefined || member === undefined || pod === undefined)
    throw new MemberError(0, 'the member has no address yet');
  if (action.kind === 'set-root-password') return setRootPassword(action, member, task);
  const password = await knownPassword(task);
  const life = incarnationOf(pod);
  switch (action.kind) {
    case 'set-settings':
      await setSettings(action.changes, (key, value) =>
        actors.databases.setSetting(member, password, key, value),
      );
      memory.noteDone(`set-settings ${contentHash(settingsByClass(spec).hot)} ${life}`);
      return;
    case 'set-backup-config':
      await actors.databases.setBackupConfig(member, password, action.config);
      memory.noteDone(`set-backup-config ${backupHash(spec)} ${life}`);
      return;
    case 'change-mcp-config':
      await actors.databases.changeMcpConfig(member, password, action.change);
      memory.noteDone(`change-mcp-config ${mcpHash(spec)} ${life}`);
      return;
    case 'back-up':
      return beginBackup(action, { member, password }, task);
    case 'verify':
      return beginVerification(action, { member, password }, task);
    default:
      return changeGroup(action, (request) =>
        actors.databases.manageGroup(member, password, request),
      );
  }
}

/** No worker waits for it: it may take hours. */
function beginBackup(
  action: Extract<Action, { kind: 'back-up' }>,
  { member, password }: { readonly member: Member; readonly password: string },
  task: Task,
): void {
  const since = Date.parse(action.since);
  const work = () => task.actors.databases.backUpAll(member, password, since);
  task.memory.begin(action.mark, work, (error) => noteFailure('back-up', error, task));
}

/** What passes by itself is begun again by a later look; 409: somebody else does it just now. */
function noteFailure(
  kind: 'back-up' | 'verify',
  error: unknown,
  { seen, actors, memory }: Task,
): void {
  if (!(error instanceof MemberError) || !isLasting(error, kind)) return;
  if (error.status === 409) return;
  memory.noteRejected(kind, {
    message: error.message,
    code: error.status,
    generation: seen.cluster.metadata.generation ?? 0,
    atMs: actors.runtime.clock.now(),
  });
}

function beginVerification(
  action: Extract<Action, { kind: 'verify' }>,
  { member, password }: { readonly member: Member; readonly password: string },
  task: Task,
): void {
  const work = () => task.actors.databases.verifyAll(member, password, action.bytesMax);
  task.memory.begin(action.mark, work, (error) => noteFailure('verify', error, task));
}

/** All that the member takes, whatever it refuses. @throws MemberError of the first one refused */
async function setSettings(
  changes: readonly { readonly key: string; readonly value: string }[],
  set: (key: string, value: string) => Promise<void>,
): Promise<void> {
  let refusal: MemberError | undefined;
  for (const { key, value } of changes) {
    try {
      await set(key, value);
    } catch (error) {
      if (!(error instanceof MemberError) || error.status !== 400) throw error;
      refusal ??= new MemberError(error.status, `spec.settings: ${error.message}`);
    }
  }
  if (refusal !== undefined) throw refusal;
}

async function readPassword(
  { seen, actors }: Task,
  secretName: string,
  key: string,
): Promise<string | undefined> {
  const { namespace } = seen.cluster.metadata;
  const secret = await actors.reader.getGiven(namespace, secretName);
  return secretText(secret as Secret | undefined, key);
}

async function knownPassword(task: Task): Promise<string> {
  const names = objectNames(task.seen.cluster.metadata.name);
  const { spec } = parseSpec(task.seen.cluster);
  const given = spec?.auth.rootPassword ?? { secretName: names.root, key: rootPasswordKey };
  const password =
    (await readPassword(task, names.rootApplied, rootPasswordKey)) ??
    (await readPassword(task, given.secretName, given.key));
  if (password === undefined) throw new MemberError(0, 'there is no root password to log in with');
  return password;
}

/**
 * Makes the member take the password of the Secret, then remembers it. Tried with the new one first: a step that was cut off
 * after the change finds it done.
 */
async function setRootPassword(
  action: Extract<Action, { kind: 'set-root-password' }>,
  member: Member,
  task: Task,
): Promise<void> {
  const { seen, actors } = task;
  const { databases } = actors;
  const names = objectNames(seen.cluster.metadata.name);
  const wanted = await readPassword(task, action.secretName, action.key);
  if (wanted === undefined) throw new MemberError(0, `Secret ${action.secretName} is gone`);
  if (!(await databases.accepts(member, wanted))) {
    const applied = await readPassword(task, names.rootApplied, rootPasswordKey);
    if (applied === undefined)
      throw new MemberError(
        403,
        `the member does not take the root password of Secret ${action.secretName}, and no earlier one is known: put the password that it has into the Secret`,
      );
    await databases.changeRootPassword(member, applied, wanted);
    if (!(await databases.accepts(member, wanted)))
      throw new MemberError(403, 'the member does not take its new root password');
  }
  const { name, namespace } = seen.cluster.metadata;
  const answer = await actors.api.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        ...inNamespace(names.rootApplied, namespace),
        labels: ownedLabels(name),
        // What the member has now is known to the member: it can be found out again.
        ownerReferences: [ownerReference(seen.cluster)],
      },
      data: { [rootPasswordKey]: encode(wanted) },
    } as Secret,
    { manager: fieldManagers.objects },
  );
  actors.reader.noteWritten(answer);
}
