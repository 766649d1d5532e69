import type { SchemaChange } from '#catalog/change/changes.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { textOr } from './import-job.ts';

// What a property of an OrientDB export says beside its name and type (http-api.md 18.5). Exports of its versions write the
// names with and without hyphens.

/** Ours, and theirs. */
const attributeNames = [
  ['mandatory', ['mandatory']],
  ['notnull', ['not-null', 'notNull']],
  ['readonly', ['readonly', 'readOnly']],
  ['min', ['min']],
  ['max', ['max']],
  ['regexp', ['regexp']],
  ['default', ['default-value', 'defaultValue']],
] as const;

/** The class or type of what the property links to or holds. */
export function linkedOf(property: ValueMap): string | undefined {
  const given = firstOf(property, ['linkedClass', 'linked-class', 'linkedType', 'linked-type']);
  return typeof given === 'string' && given !== '' ? given : undefined;
}

/** One change for each attribute and custom field, since of several one change would apply the last. */
export function constraintsOf(type: string, property: ValueMap): readonly SchemaChange[] {
  const about = {
    kind: 'alter-property',
    type,
    property: textOr(property.get('name'), ''),
  } as const;
  const changes: SchemaChange[] = [];
  for (const [name, theirs] of attributeNames) {
    const given = firstOf(property, theirs);
    if (given === undefined || given === null || given === false || given === '') continue;
    const value = name === 'default' ? defaultText(given) : given;
    changes.push({ ...about, attributes: [{ name, value }], custom: new Map() });
  }
  const custom = firstOf(property, ['customFields', 'custom-fields']);
  if (custom !== undefined && isMap(custom))
    for (const entry of custom)
      changes.push({ ...about, attributes: [], custom: new Map([entry]) });
  return changes;
}

/** There a default is a text unless it calls a function; here it is an expression. */
function defaultText(given: Value): Value {
  if (typeof given !== 'string') return given;
  const isExpression = /^([\w.]+\(.*\)|-?\d+(\.\d+)?|true|false|null|'.*'|".*")$/is.test(given);
  return isExpression ? given : `'${given.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function firstOf(property: ValueMap, names: readonly string[]): Value | undefined {
  for (const name of names) {
    const value = property.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}
