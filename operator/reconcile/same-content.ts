import { parseQuantity } from '../resources/quantity.ts';

/**
 * Whether `present` already holds everything that `desired` says, so that an apply would change nothing. What others have
 * added is not ours and does not count; nor do defaults that the API server filled in or empty values it left out.
 */
export function holds(present: unknown, desired: unknown): boolean {
  if (isEmpty(desired)) return present === undefined || isEmpty(present) || isObject(desired);
  if (Array.isArray(desired)) return Array.isArray(present) && holdsList(present, desired);
  if (isObject(desired)) {
    if (!isObject(present)) return false;
    return Object.entries(desired).every(([field, value]) => holds(present[field], value));
  }
  return present === desired || isSameQuantity(present, desired);
}

// Lists that server-side apply merges by a key, in the order in which a key decides.
const listKeys = ['mountPath', 'uid', 'name', 'containerPort'] as const;

function holdsList(present: readonly unknown[], desired: readonly unknown[]): boolean {
  const key = listKeys.find((name) => desired.every((item) => isObject(item) && name in item));
  if (key === undefined)
    return (
      present.length === desired.length && desired.every((item, at) => holds(present[at], item))
    );
  return desired.every((item) => {
    const wanted = (item as Record<string, unknown>)[key];
    return holds(
      present.find((other) => isObject(other) && other[key] === wanted),
      item,
    );
  });
}

function isSameQuantity(a: unknown, b: unknown): boolean {
  if (!isScalar(a) || !isScalar(b)) return false;
  const value = parseQuantity(a);
  return value !== undefined && value === parseQuantity(b);
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === false || value === 0;
}
