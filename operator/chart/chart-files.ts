import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { definitionFiles } from '../api/definition-file.ts';
import { operatorPermissions } from '../api/permissions.ts';
import { hotSettings, managedSettings } from '../api/setting-classes.ts';
import { memberAlerts } from '../resources/alert-rules.ts';
import { dashboard } from './dashboard.ts';
import { chartValues } from './values-schema.ts';
import { valuesTable } from './values-table.ts';

/** A file of the chart that is made from code; `npm run generate` writes it and a test compares. */
export interface ChartFile {
  readonly path: string;
  readonly content: string;
}

/** Put in by the template. */
const placeholders = { namespace: 'NAMESPACE', name: 'RELEASE' };

const header = '# Generated from operator/ by `npm run generate`; do not edit.\n';

/** All of them. Templates read the ones in `files/`, so chart and operator cannot drift apart. */
export function chartFiles(): readonly ChartFile[] {
  const rules = operatorPermissions.map(({ scope, group, resources, verbs }) => ({
    scope,
    group,
    resources,
    verbs,
  }));
  return [
    file('values.schema.json', `${JSON.stringify(valuesSchema(), undefined, 2)}\n`),
    file('files/permissions.yaml', header + stringify({ rules })),
    ...definitionFiles().map(({ name, content }) => file(`files/crds/${name}`, content)),
    file('files/hot-settings.txt', lines([...hotSettings].sort())),
    file('files/managed-settings.txt', lines(managedSettings)),
    file('files/dashboard.json', `${JSON.stringify(dashboard(), undefined, 2)}\n`),
    file('files/alert-rules.yaml', header + stringify({ rules: memberAlerts(placeholders) })),
    file('VALUES.md', withTable(readChart('VALUES.md'), valuesTable(readChart('values.yaml')))),
  ];
}

function file(name: string, content: string): ChartFile {
  return { path: pathOf(name), content };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../chart/${name}`, import.meta.url));
}

function readChart(name: string): string {
  return readFileSync(pathOf(name), 'utf8');
}

function withTable(text: string, table: string): string {
  const [before = '', rest = ''] = text.split('<!-- values -->');
  const [, after = ''] = rest.split('<!-- end of values -->');
  return `${before}<!-- values -->\n\n${table}\n<!-- end of values -->${after}`;
}

function lines(words: readonly string[]): string {
  return words.map((word) => `${word}\n`).join('');
}

type Schema = { [word: string]: unknown };

function valuesSchema(): object {
  const schema = z.toJSONSchema(chartValues, { target: 'draft-7', io: 'input' }) as Schema;
  requireDefaults(schema, parse(readChart('values.yaml')));
  return { ...schema, title: 'Values of the chart polyad' };
}

/** Helm takes a default out when somebody nulls it: what templates cannot do without must be there then, or the render says so. */
function requireDefaults(schema: Schema, standard: unknown): void {
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined;
  if (properties === undefined || typeof standard !== 'object' || standard === null) return;
  const required: string[] = [];
  for (const [name, value] of Object.entries(standard)) {
    const inner = properties[name];
    if (inner === undefined) continue;
    if (value !== null && !takesNull(inner)) required.push(name);
    requireDefaults(inner, value);
  }
  if (required.length > 0) schema['required'] = required;
}

function takesNull(schema: Schema): boolean {
  const choices = (schema['anyOf'] ?? []) as readonly Schema[];
  return [schema['type']].flat().includes('null') || choices.some(takesNull);
}
