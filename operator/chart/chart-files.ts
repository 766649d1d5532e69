import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { z } from 'zod';
import { renderDefinition } from '../api/definition-file.ts';
import { operatorPermissions } from '../api/permissions.ts';
import { hotSettings, managedSettings } from '../api/setting-classes.ts';
import { chartValues } from './values-schema.ts';

/** A file of the chart that is made from code; `npm run generate` writes it and a test compares. */
export interface ChartFile {
  readonly path: string;
  readonly content: string;
}

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
    file('files/clusters.polyad.io.yaml', renderDefinition()),
    file('files/hot-settings.txt', lines([...hotSettings].sort())),
    file('files/managed-settings.txt', lines(managedSettings)),
  ];
}

function file(name: string, content: string): ChartFile {
  return { path: fileURLToPath(new URL(`../../chart/${name}`, import.meta.url)), content };
}

function lines(words: readonly string[]): string {
  return words.map((word) => `${word}\n`).join('');
}

function valuesSchema(): object {
  return {
    ...z.toJSONSchema(chartValues, { target: 'draft-7', io: 'input' }),
    title: 'Values of the chart polyad',
  };
}
