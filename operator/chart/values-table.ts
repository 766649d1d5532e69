import { isMap, isScalar, parseDocument } from 'yaml';
import type { Pair, YAMLMap } from 'yaml';

/** Fragments of pods are shown in one row. */
const fragments = new Set([
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'podSecurityContext',
  'securityContext',
  'operator.resources',
]);

/** The values of the chart as rows of a Markdown table: key, default, and the comment that stands above it. */
export function valuesTable(valuesYaml: string): string {
  const document = parseDocument(valuesYaml);
  const rows: string[] = ['| Key | Default | |', '|---|---|---|'];
  if (isMap(document.contents)) addRows(document.contents, '', rows);
  return `${rows.join('\n')}\n`;
}

function addRows(map: YAMLMap, path: string, rows: string[]): void {
  let first = true;
  for (const pair of map.items as Pair[]) {
    const { key, value } = pair;
    if (!isScalar(key)) continue;
    const name = path === '' ? String(key.value) : `${path}.${String(key.value)}`;
    // The comment above the first key of a map belongs to the map in this library.
    const comment = key.commentBefore ?? (first ? map.commentBefore : undefined) ?? '';
    first = false;
    if (isMap(value) && value.items.length > 0 && !fragments.has(name)) {
      addRows(value, name, rows);
      continue;
    }
    const standard = JSON.stringify(toPlain(value));
    rows.push(`| \`${name}\` | \`${standard.replaceAll('|', '\\|')}\` | ${oneLine(comment)} |`);
  }
}

function toPlain(value: unknown): unknown {
  return (value as { toJSON?: () => unknown } | null)?.toJSON?.() ?? null;
}

function oneLine(comment: string): string {
  const paragraph = comment.split('\n\n').at(-1) ?? '';
  return paragraph
    .replace(/\s*\n\s*/g, ' ')
    .trim()
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
}
