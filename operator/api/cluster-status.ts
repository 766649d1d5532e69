import { z } from 'zod';

/*
 * `Cluster.status` (operator.md 3.5). Written by the operator only, read back by it for continuity, never for truth: when it
 * is missing the next step follows from the world alone.
 */

const text = (maxLength = 512) => z.string().max(maxLength).optional();
const whole = z.int().meta({ format: 'int32' }).optional();
const long = z.int().meta({ format: 'int64' }).optional();

export const condition = z.object({
  type: z.string().max(63),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(128),
  message: z.string().max(4096),
  lastTransitionTime: z.string().max(64),
  observedGeneration: long,
});

const member = z.object({
  name: z.string().max(63),
  ordinal: z.int(),
  peerId: text(320),
  role: text(16),
  voter: z.boolean().optional(),
  inConfiguration: z.boolean().optional(),
  ready: z.boolean().optional(),
  version: text(64),
  node: text(253),
  zone: text(253),
  lag: text(8),
  state: text(32),
  volumeUid: text(64),
  incarnation: text(128),
  learnerSince: text(64),
  storageId: text(64),
  restartHash: text(64),
  message: text(1024),
});

const operation = z.object({
  id: z.string().max(64),
  type: z.enum([
    'Create',
    'Scale',
    'Restart',
    'Upgrade',
    'RollBack',
    'Hibernate',
    'Resume',
    'Repair',
  ]),
  target: z.string().max(512),
  step: z.string().max(64),
  generation: long,
  startedAt: z.string().max(64),
  stepStartedAt: text(64),
  attempts: whole,
  token: text(64),
});

const upgrade = z.object({
  from: text(),
  to: text(),
  phase: z.string().max(32),
  startedAt: z.string().max(64),
  canary: text(63),
  oneWay: text(512),
  features: z
    .array(z.string().max(128))
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .optional(),
});

export const clusterStatus = z.object({
  observedGeneration: long,
  operator: text(),
  phase: text(32),
  replicas: whole,
  readyReplicas: whole,
  updatedReplicas: whole,
  voters: whole,
  learners: whole,
  healthyVoters: whole,
  faultTolerance: whole,
  selector: text(1024),
  leader: text(63),
  leaderPeerId: text(320),
  term: long,
  commitIndex: long,
  configurationIndex: long,
  version: text(64),
  image: text(),
  lastGoodImage: text(),
  failedImage: text(),
  members: z
    .array(member)
    .max(25)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional(),
  operation: operation.optional(),
  upgrade: upgrade.optional(),
  storage: z
    .array(
      z.object({
        claim: z.string().max(253),
        requested: text(32),
        capacity: text(32),
        state: text(64),
      }),
    )
    .max(75)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['claim'] })
    .optional(),
  certificates: z
    .array(
      z.object({
        name: z.string().max(253),
        notAfter: z.string().max(64),
        serial: text(64),
        trustedCas: whole,
      }),
    )
    .max(8)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional(),
  backups: z
    .object({
      lastSuccessful: text(64),
      lastFailed: text(64),
      perDatabase: z
        .array(
          z.object({
            name: z.string().max(253),
            lastSuccessful: text(64),
            lastFailed: text(64),
            message: text(512),
          }),
        )
        .max(32)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
        .optional(),
      begun: z
        .object({ mark: z.string().max(512), at: z.string().max(64), member: text(63) })
        .optional(),
      final: text(64),
      finalMember: text(63),
    })
    .optional(),
  endpoints: z
    .object({ http: text(), readWrite: text(), readOnly: text(), headless: text() })
    .optional(),
  secrets: z
    .object({ root: text(253), token: text(253), ca: text(253), tls: text(253) })
    .optional(),
  recovery: z
    .object({
      incidentToken: text(64),
      since: text(64),
      candidates: z.array(z.string().max(63)).max(25).optional(),
    })
    .optional(),
  failedJoin: z
    .object({
      members: z.array(z.string().max(63)).max(25).meta({ 'x-kubernetes-list-type': 'set' }),
      message: z.string().max(2048),
      token: z.string().max(64),
      inputs: z.string().max(64),
    })
    .optional(),
  applied: z
    .object({
      restartHash: text(64),
      hotHash: text(64),
      hotKeys: z.array(z.string().max(128)).max(128).optional(),
      hotFor: text(128),
      hotForOthers: z.array(z.string().max(128)).max(25).optional(),
      backupHash: text(64),
      mcpHash: text(64),
      renderVersion: text(16),
    })
    .optional(),
  conditions: z
    .array(condition)
    .max(24)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .optional(),
});

export type ClusterStatus = z.output<typeof clusterStatus>;
export type Condition = z.output<typeof condition>;
export type Operation = z.output<typeof operation>;
export type MemberStatus = z.output<typeof member>;
