import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { allDefinitions } from './kinds/definitions.ts';
import type { JsonObject } from './kubernetes-object.ts';

/** A definition as a file: `npm run generate` writes it to `crds/` and a test compares. */
export interface DefinitionFile {
  /** `clusters.polyad.io.yaml`. */
  readonly name: string;
  readonly path: string;
  readonly content: string;
}

const header = '# Generated from operator/api by `npm run generate`; do not edit.\n';

export function definitionFiles(): readonly DefinitionFile[] {
  return allDefinitions().map((definition) => {
    const name = `${(definition['metadata'] as JsonObject)['name'] as string}.yaml`;
    return {
      name,
      path: fileURLToPath(new URL(`../../crds/${name}`, import.meta.url)),
      content: header + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }),
    };
  });
}
