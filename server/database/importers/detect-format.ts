import { DatabaseError } from '#core/errors.ts';
import { guessDelimiter } from './csv-rows.ts';
import type { ImportFormat } from './import-settings.ts';
import { refuseUnsupportedFile } from './unsupported-formats.ts';

/**
 * The format of a file: by what it begins with where that is plain, else by the extension of its name (http-api.md 18.5).
 * @throws DatabaseError `Validation` for what looks like none of them, `NotSupported` for formats that only others read
 * @param head the first characters of the content, some thousand if there are so many
 */
export function detectFormat(name: string, head: string): ImportFormat {
  const start = head.replace(/^\ufeff/, '').trimStart();
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase();
  refuseUnsupportedFile(extension, start);
  if (start.startsWith('<')) return 'graphml';
  if (extension === 'csv' || extension === 'tsv') return 'csv';
  if (extension === 'graphml') return 'graphml';
  if (extension === 'graphson') return 'graphson';
  if (start.startsWith('{')) return formatOfObject(start);
  if (start.startsWith('[')) return 'json';
  if (extension === 'json' || extension === 'jsonl') return 'json';
  if (guessDelimiter(start) !== undefined && !head.includes('\u0000')) return 'csv';
  throw new DatabaseError(
    'Validation',
    `the format of '${name.slice(0, 100)}' is not known; the setting 'format' names it`,
  );
}

function formatOfObject(start: string): ImportFormat {
  const line = start.split('\n', 1)[0] ?? '';
  if (/^\{\s*"t"\s*:\s*"(info|db|schema|d|v|e)"/.test(line)) return 'jsonl';
  if (/^\{\s*"info"\s*:\s*\{[^}]*"(exporter-version|engine-build|schemaRecordId)"/.test(start))
    return 'orientdb';
  if (/^\{\s*"info"\s*:/.test(start) && /"(clusters|schema)"\s*:/.test(start)) return 'orientdb';
  const isVertex = /^\{\s*"(id|@type|label)"\s*:/.test(line) && /"label"\s*:/.test(line);
  return isVertex && /"(outE|inE|properties|id)"\s*:/.test(line) ? 'graphson' : 'json';
}
