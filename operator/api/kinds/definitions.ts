import type { z } from 'zod';
import {
  clusterDefinition,
  structuralSchema,
  unseenStatus,
  withRules,
} from '../custom-resource-definition.ts';
import type { ValidationRule } from '../cel-rules.ts';
import { describeFields } from '../descriptions/describe-fields.ts';
import type { JsonObject } from '../kubernetes-object.ts';
import { backupDescriptions, backupSpec, backupStatus } from './backup.ts';
import { restoreDescriptions, restoreSpec, restoreStatus } from './restore.ts';
import {
  scheduledBackupDescriptions,
  scheduledBackupSpec,
  scheduledBackupStatus,
} from './scheduled-backup.ts';
import { kindDefinition } from './kind-definition.ts';
import type { Column } from './kind-definition.ts';

/** A kind beside `Cluster`: its schemas and what is said of their fields. */
interface OwnKind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly descriptions: Readonly<Record<string, string>>;
  readonly rules: readonly ValidationRule[];
  readonly columns: readonly Column[];
}

const readyColumn: Column = {
  name: 'Ready',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};
const clusterColumn: Column = { name: 'Cluster', jsonPath: '.spec.clusterRef.name' };
const phaseColumn: Column = { name: 'Phase', jsonPath: '.status.phase' };
const ageColumn: Column = { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' };
const messageColumn: Column = {
  name: 'Message',
  jsonPath: '.status.conditions[?(@.type=="Ready")].message',
  isWide: true,
};

function immutable(plural: string, why: string): ValidationRule {
  return { at: 'spec', rule: 'self == oldSelf', message: `spec of ${plural} is immutable: ${why}` };
}

const ownKinds: readonly OwnKind[] = [
  {
    kind: 'Backup',
    plural: 'backups',
    shortName: 'pydb',
    description: 'One backup of databases of a Cluster',
    spec: backupSpec,
    status: backupStatus,
    descriptions: backupDescriptions,
    rules: [immutable('backups', 'it says how a backup was taken; make another Backup')],
    columns: [
      readyColumn,
      phaseColumn,
      clusterColumn,
      { name: 'Method', jsonPath: '.spec.method' },
      { name: 'Finished', jsonPath: '.status.finishedAt', type: 'date' },
      ageColumn,
      { name: 'Member', jsonPath: '.status.member', isWide: true },
      messageColumn,
    ],
  },
  {
    kind: 'ScheduledBackup',
    plural: 'scheduledbackups',
    shortName: 'pydsb',
    description: 'Makes Backups of a Cluster at times',
    spec: scheduledBackupSpec,
    status: scheduledBackupStatus,
    descriptions: scheduledBackupDescriptions,
    rules: [
      {
        at: '',
        rule: 'size(self.metadata.name) <= 40',
        message:
          'metadata.name may have at most 40 characters: Backups are named after it and the moment of each',
      },
    ],
    columns: [
      readyColumn,
      { name: 'Schedule', jsonPath: '.spec.schedule' },
      { name: 'Suspended', jsonPath: '.spec.suspend', type: 'boolean' },
      { ...clusterColumn, jsonPath: '.spec.template.clusterRef.name' },
      { name: 'Last', jsonPath: '.status.lastScheduleTime', type: 'date' },
      { name: 'Backup', jsonPath: '.status.lastBackup' },
      ageColumn,
      { name: 'Next', jsonPath: '.status.nextScheduleTime', isWide: true },
      messageColumn,
    ],
  },
  {
    kind: 'Restore',
    plural: 'restores',
    shortName: 'pydr',
    description: 'Databases of a Cluster made of archives, once',
    spec: restoreSpec,
    status: restoreStatus,
    descriptions: restoreDescriptions,
    rules: [
      immutable('restores', 'it says what was restored; make another Restore'),
      {
        at: 'spec.source',
        rule: 'has(self.backupRef) != has(self.url)',
        message: 'spec.source needs exactly one of backupRef and url: archives come from one place',
      },
    ],
    columns: [
      readyColumn,
      phaseColumn,
      clusterColumn,
      { name: 'Backup', jsonPath: '.spec.source.backupRef.name' },
      { name: 'Finished', jsonPath: '.status.finishedAt', type: 'date' },
      ageColumn,
      messageColumn,
    ],
  },
];

function schemaOf(own: OwnKind): JsonObject {
  const noEffect = () => undefined;
  const described = (schema: z.ZodType, path: string) => {
    const ofPath = Object.entries(own.descriptions).filter(
      ([field]) => field === path || field.startsWith(`${path}.`),
    );
    return describeFields(structuralSchema(schema), path, Object.fromEntries(ofPath), noEffect);
  };
  return withRules(
    {
      type: 'object',
      description: own.description,
      required: ['spec'],
      properties: {
        apiVersion: { type: 'string', description: 'polyad.io/v1alpha1' },
        kind: { type: 'string', description: own.kind },
        metadata: { type: 'object' },
        spec: described(own.spec, 'spec'),
        status: {
          description: 'What is known; written by the operator only',
          ...described(own.status, 'status'),
          default: unseenStatus,
        },
      },
    },
    own.rules,
  );
}

/** Every CustomResourceDefinition of the operator, `Cluster` first. */
export function allDefinitions(): readonly JsonObject[] {
  return [
    clusterDefinition(),
    ...ownKinds.map((own) => kindDefinition({ ...own, schema: schemaOf(own) })),
  ];
}
