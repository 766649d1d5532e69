import { z } from 'zod';

/*
 * Parts of pods that users may give. Small ones are spelled out; whole pod schemas would make the definition pass a
 * megabyte, so large ones are passed through unchecked here and checked by the API server when the StatefulSet is applied.
 */

const preserve = { 'x-kubernetes-preserve-unknown-fields': true } as const;

/** An object whose content the API server does not look at. */
export function openObject() {
  return z.looseObject({}).meta({ ...preserve });
}

/** A list of such objects. */
export function openList(maxItems: number) {
  return z.array(openObject()).max(maxItems);
}

/** A quantity such as `8Gi` or `500m`; never rewritten. */
export function quantity() {
  return z.union([z.int(), z.string()]).meta({
    'x-kubernetes-int-or-string': true,
    pattern:
      '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
    maxLength: 32,
  });
}

export function name(maxLength = 253) {
  return z.string().min(1).max(maxLength);
}

export function textMap(maxProperties: number, maxLength = 1024) {
  return z.record(z.string(), z.string().max(maxLength)).meta({ maxProperties });
}

/** The name of a Secret, as Kubernetes demands of all its names: a DNS subdomain. */
export function secretName() {
  return name().regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'must be the name of a Secret: lower case letters, digits, - and .',
  );
}

/** A key in a Secret, as Kubernetes demands it: it becomes the name of a file, and neither `.` nor `..something`. */
export function keyInSecret() {
  return name().regex(
    /^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$/,
    'must be a key in a Secret: letters, digits, -, _ and .',
  );
}

export const secretKey = z.object({ secretName: secretName(), key: keyInSecret() });

export const environmentVariable = z.object({
  name: name(),
  value: z.string().max(4096).optional(),
  valueFrom: openObject().optional(),
});

const quantities = z.record(z.string(), quantity()).meta({ maxProperties: 16 });

export const containerResources = z.object({
  requests: quantities.optional(),
  limits: quantities.optional(),
});

export const toleration = z.object({
  key: z.string().max(317).optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().max(63).optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
});

export const probe = openObject();
