/*
 * Server-side apply as far as the operator uses it: each manager's last applied content is kept; a field that it leaves out
 * is removed, lists with keys are merged by key, other lists are replaced.
 */

type Tree = Record<string, unknown>;

/** Lists that are merged by a key. */
export const keysOfLists: Readonly<Record<string, string>> = {
  ownerReferences: 'uid',
  conditions: 'type',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  env: 'name',
  volumeMounts: 'mountPath',
  members: 'name',
  storage: 'claim',
};

/** `present` after a manager that had applied `before` applies `next`. */
export function applyFields(present: unknown, before: unknown, next: unknown): unknown {
  return merge(remove(present, before, next, ''), next, '');
}

function remove(present: unknown, before: unknown, next: unknown, field: string): unknown {
  if (isTree(present) && isTree(before)) {
    const result: Tree = {};
    for (const [key, value] of Object.entries(present)) {
      if (!(key in before)) result[key] = value;
      else if (isTree(next) && key in next)
        result[key] = remove(value, before[key], next[key], key);
    }
    return result;
  }
  const listKey = keysOfLists[field];
  if (Array.isArray(present) && Array.isArray(before) && field === 'finalizers') {
    const kept = new Set(Array.isArray(next) ? next : []);
    return present.filter((item) => !before.includes(item) || kept.has(item));
  }
  if (!Array.isArray(present) || !Array.isArray(before) || listKey === undefined) return present;
  const find = (list: unknown, key: unknown) =>
    Array.isArray(list) ? list.find((item) => (item as Tree)[listKey] === key) : undefined;
  return present.flatMap((item) => {
    const key = (item as Tree)[listKey];
    const owned = find(before, key);
    const kept = find(next, key);
    if (owned === undefined) return [item];
    return kept === undefined ? [] : [remove(item, owned, kept, '')];
  });
}

function merge(present: unknown, next: unknown, field: string): unknown {
  if (isTree(next)) {
    const result: Tree = isTree(present) ? { ...present } : {};
    for (const [key, value] of Object.entries(next)) result[key] = merge(result[key], value, key);
    return result;
  }
  const listKey = keysOfLists[field];
  if (!Array.isArray(next) || !Array.isArray(present)) return next;
  if (field === 'finalizers') return [...new Set([...present, ...next])];
  if (listKey === undefined) return next;
  const result = present.map((item) => {
    const same = next.find((other) => (other as Tree)[listKey] === (item as Tree)[listKey]);
    return same === undefined ? item : merge(item, same, '');
  });
  const known = new Set(present.map((item) => (item as Tree)[listKey]));
  return [...result, ...next.filter((item) => !known.has((item as Tree)[listKey]))];
}

/** RFC 7386: null removes, objects merge, everything else replaces. */
export function mergePatch(present: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const result: Tree = isTree(present) ? { ...present } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
