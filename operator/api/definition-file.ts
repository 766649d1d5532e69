import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { clusterDefinition } from './custom-resource-definition.ts';

/** Where the definition lies; `npm run generate` writes it and a test compares. */
export const definitionFile = fileURLToPath(
  new URL('../../crds/clusters.polyad.io.yaml', import.meta.url),
);

const header = '# Generated from operator/api by `npm run generate`; do not edit.\n';

export function renderDefinition(): string {
  return header + stringify(clusterDefinition(), { lineWidth: 0, aliasDuplicateObjects: false });
}
