import { writeFileSync } from 'node:fs';
import { definitionFile, renderDefinition } from './api/definition-file.ts';

// `npm run generate`: writes the custom resource definition anew.

writeFileSync(definitionFile, renderDefinition());
