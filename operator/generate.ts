import { writeFileSync } from 'node:fs';
import { definitionFile, renderDefinition } from './api/definition-file.ts';
import { chartFiles } from './chart/chart-files.ts';

// `npm run generate`: writes the custom resource definition and the generated files of the chart anew.

writeFileSync(definitionFile, renderDefinition());
for (const { path, content } of chartFiles()) writeFileSync(path, content);
