import { bidirectionalMark } from '../operations/export/one-way-mark.ts';

/** The name of a property that a file has: names with `@` are the server's own. */
export function propertyName(name: string): string {
  return name.startsWith('@') ? `_${name.slice(1)}` : name;
}

/** As `propertyName`, for edges, which may have the mark of those with one side. */
export function edgePropertyName(name: string): string {
  return name === bidirectionalMark ? name : propertyName(name);
}
