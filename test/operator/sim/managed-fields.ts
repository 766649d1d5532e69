import { keysOfLists } from './server-side-apply.ts';

/*
 * What the API server notes of who wrote which field (FieldsV1), as far as taking an object over needs it: names as `f:name`,
 * entries of lists with a key as `k:{"name":"x"}`, everything else as one field.
 */

type Tree = Record<string, unknown>;

export function fieldsOf(value: unknown, field = ''): Tree {
  const key = keysOfLists[field];
  if (Array.isArray(value) && key !== undefined)
    return Object.fromEntries(
      (value as Tree[]).map((item) => [
        `k:${JSON.stringify({ [key]: item[key] })}`,
        fieldsOf(item),
      ]),
    );
  if (!isTree(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [`f:${name}`, fieldsOf(inner, name)]),
  );
}

/** The part of an object that the fields name. */
export function pick(value: unknown, fields: Tree): unknown {
  const names = Object.entries(fields);
  if (names.length === 0) return value;
  if (Array.isArray(value))
    return names.flatMap(([name, inner]) => {
      const [[key, wanted] = ['', '']] = Object.entries(JSON.parse(name.slice(2)) as Tree);
      const item = (value as Tree[]).find((other) => other[key] === wanted);
      return item === undefined ? [] : [pick(item, inner as Tree)];
    });
  if (!isTree(value)) return value;
  return Object.fromEntries(
    names.flatMap(([name, inner]) => {
      const at = name.slice(2);
      return at in value ? [[at, pick(value[at], inner as Tree)]] : [];
    }),
  );
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
