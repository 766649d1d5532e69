import { z } from 'zod';
import { DatabaseError } from '#core/errors.ts';
import type { ArchivedFile } from '#platform/archive/writer.ts';
import { dataFileName, manifestName } from './archive.ts';

// Loaded by restores only: an idle server would hold some MB for zod.

const manifestShape = z.object({
  format: z.literal('service-backup'),
  version: z.literal(1),
  database: z.string(),
  createdAt: z.number(),
  lastTxId: z.number().int().nonnegative(),
  engine: z.literal('lmdb'),
  files: z
    .array(
      z.object({
        name: z.string(),
        size: z.number().int().nonnegative(),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .length(1),
});

export type BackupManifest = Readonly<Omit<z.infer<typeof manifestShape>, 'files'>> & {
  readonly files: readonly ArchivedFile[];
};

/** @throws DatabaseError `Validation` for another form, or a version that this server does not read */
export function parseManifest(text: string): BackupManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DatabaseError('Validation', `'${manifestName}' of the archive is no JSON`, { cause });
  }
  const parsed = manifestShape.safeParse(value);
  if (parsed.success && parsed.data.files[0]?.name === dataFileName) return parsed.data;
  const [issue] = parsed.success ? [] : parsed.error.issues;
  const where = issue === undefined ? 'files' : issue.path.join('.');
  throw new DatabaseError(
    'Validation',
    `'${manifestName}' of the archive is none of this server: '${where}' is not as expected`,
  );
}
