import type { SchemaChange } from './changes.ts';
import { requireLength } from '../name-rules.ts';

type NewName = readonly [what: string, name: string];

/**
 * Holds the names that a change brings in to a limit below that of limits.md 22, which `applyChange` holds them to.
 * @throws DatabaseError `SchemaLimit` naming the setting
 */
export function requireShortNames(change: SchemaChange, lengthMax: number): void {
  for (const [what, name] of newNames(change)) requireLength(what, name, lengthMax);
}

function newNames(change: SchemaChange): readonly NewName[] {
  switch (change.kind) {
    case 'create-type':
      return [['type', change.name]];
    case 'alter-type':
      return change.items.flatMap((item): readonly NewName[] => {
        if (item.kind === 'name') return [['type', item.name]];
        if (item.kind !== 'aliases') return [];
        return item.aliases.map((alias) => ['alias', alias] as const);
      });
    case 'create-property':
      return [['property', change.property]];
    case 'create-bucket':
      return [['bucket', change.name]];
    case 'create-index':
      return change.name === undefined ? [] : [['index', change.name]];
    case 'create-trigger':
      return [['trigger', change.name]];
    case 'define-function':
      return [
        ['function library', change.library],
        ['function', change.name],
      ];
    case 'create-view':
      return [['materialized view', change.name]];
    case 'create-graph-view':
      return [['graph analytical view', change.name]];
    default:
      return [];
  }
}
