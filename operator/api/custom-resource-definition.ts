import { z } from 'zod';
import { clusterRules } from './cel-rules.ts';
import type { ValidationRule } from './cel-rules.ts';
import { clusterSpec } from './cluster-spec.ts';
import { clusterStatus } from './cluster-status.ts';
import { describeFields } from './descriptions/describe-fields.ts';
import { specDescriptions } from './descriptions/spec.ts';
import { statusDescriptions } from './descriptions/status.ts';
import type { Json, JsonObject } from './kubernetes-object.ts';
import { clusterKind } from './names.ts';
import { kindDefinition } from './kinds/kind-definition.ts';
import type { Column } from './kinds/kind-definition.ts';

type MutableSchema = { [field: string]: Json | undefined };

const keptFields = new Set([
  'type',
  'format',
  'description',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'maxProperties',
  'pattern',
  'required',
]);

/**
 * A structural schema made from what zod says: no unions but the int-or-string one, no closed objects, every level typed.
 * @throws Error for a construct that a structural schema cannot hold
 */
export function structuralSchema(schema: z.ZodType): JsonObject {
  return convert(z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonObject, '');
}

function convert(source: JsonObject, path: string): JsonObject {
  const result: MutableSchema = {};
  for (const [field, value] of Object.entries(source)) {
    if (keptFields.has(field) || field.startsWith('x-kubernetes-')) result[field] = value;
  }
  if (source['x-kubernetes-int-or-string'] === true) {
    delete result['type'];
    return result;
  }
  if (source['x-kubernetes-preserve-unknown-fields'] === true) return { ...result, type: 'object' };
  if (typeof source['type'] !== 'string') throw new Error(`${path}: no single type`);
  dropUnboundedNumbers(result);
  if (source['properties'] !== undefined) {
    const properties = Object.entries(source['properties'] as JsonObject);
    result['properties'] = Object.fromEntries(
      properties.map(([name, inner]) => [name, convert(inner as JsonObject, `${path}.${name}`)]),
    );
  } else if (typeof source['additionalProperties'] === 'object') {
    const inner = source['additionalProperties'] as JsonObject;
    result['additionalProperties'] = convert(inner, `${path}.*`);
  }
  if (source['items'] !== undefined)
    result['items'] = convert(source['items'] as JsonObject, `${path}[]`);
  // What a list is when nothing is said; said, so that tools that merge need not guess.
  if (result['type'] === 'array') result['x-kubernetes-list-type'] ??= 'atomic';
  if (typeof result['default'] === 'object') result['default'] = completeDefault(result);
  return result;
}

/**
 * The default of an object with the defaults inside it. The API server runs the rules on a default as it is written, so `{}`
 * would be refused by every rule that reads a field.
 */
function completeDefault(schema: JsonObject): JsonObject {
  const filled: MutableSchema = { ...(schema['default'] as JsonObject) };
  for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as JsonObject)) {
    const standard = (inner as JsonObject)['default'];
    if (standard !== undefined && filled[name] === undefined) filled[name] = standard;
  }
  return filled;
}

/** zod bounds whole numbers by what JavaScript can hold exactly; the API server needs no such bound. */
function dropUnboundedNumbers(schema: MutableSchema): void {
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
}

/** Adds the rules at their places. @throws Error when a rule speaks about a field that is not there */
export function withRules(schema: JsonObject, rules: readonly ValidationRule[]): JsonObject {
  const root = structuredClone(schema) as MutableSchema;
  for (const { at, rule, message } of rules) {
    let place = root;
    for (const field of at === '' ? [] : at.split('.')) {
      const inner =
        field === '*'
          ? place['additionalProperties']
          : (place['properties'] as MutableSchema | undefined)?.[field];
      if (inner === undefined) throw new Error(`rule for ${at}: there is no field ${field}`);
      place = inner as MutableSchema;
    }
    const present = (place['x-kubernetes-validations'] ?? []) as readonly Json[];
    place['x-kubernetes-validations'] = [...present, { rule, message }];
  }
  return root;
}

/**
 * What an object says before the operator has seen it. Without it tools that wait for an object take one without a status for
 * reached, and go on before anything runs.
 */
export const unseenStatus: JsonObject = {
  observedGeneration: 0,
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'no operator has looked at it yet',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
};

/** The schema of a whole Cluster. */
export function clusterSchema(): JsonObject {
  const status = describeFields(structuralSchema(clusterStatus), 'status', statusDescriptions);
  const spec = describeFields(structuralSchema(clusterSpec.prefault({})), 'spec', specDescriptions);
  return withRules(
    {
      type: 'object',
      description: 'A database cluster of Polyad',
      properties: {
        apiVersion: { type: 'string', description: 'polyad.io/v1alpha1' },
        kind: { type: 'string', description: 'Cluster' },
        metadata: { type: 'object' },
        spec,
        status: { ...status, default: unseenStatus },
      },
    },
    clusterRules,
  );
}

const columns: readonly Column[] = [
  { name: 'Ready', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Phase', jsonPath: '.status.phase' },
  { name: 'Replicas', jsonPath: '.spec.replicas', type: 'integer' },
  { name: 'Voters', jsonPath: '.status.voters', type: 'integer' },
  { name: 'Healthy', jsonPath: '.status.healthyVoters', type: 'integer' },
  { name: 'Leader', jsonPath: '.status.leader' },
  { name: 'Version', jsonPath: '.status.version' },
  { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  { name: 'Term', jsonPath: '.status.term', type: 'integer', isWide: true },
  { name: 'Tolerance', jsonPath: '.status.faultTolerance', type: 'integer', isWide: true },
  { name: 'Image', jsonPath: '.status.image', isWide: true },
  {
    name: 'Message',
    jsonPath: '.status.conditions[?(@.type=="Ready")].message',
    isWide: true,
  },
];

/** The CustomResourceDefinition of `Cluster`, as `npm run generate` writes it. */
export function clusterDefinition(): JsonObject {
  return kindDefinition({
    kind: clusterKind,
    plural: 'clusters',
    shortName: 'pyd',
    schema: clusterSchema(),
    columns,
    subresources: {
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
  });
}
