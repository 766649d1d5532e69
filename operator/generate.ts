import { writeFileSync } from 'node:fs';
import { definitionFiles } from './api/definition-file.ts';
import { chartFiles } from './chart/chart-files.ts';

// `npm run generate`: writes the custom resource definitions and the generated files of the chart anew.

for (const { path, content } of [...definitionFiles(), ...chartFiles()])
  writeFileSync(path, content);
