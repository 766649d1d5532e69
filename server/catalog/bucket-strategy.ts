import { DatabaseError } from '#core/errors.ts';

/** How the bucket of a new record is chosen (sql.md 1.3). `text` is the canonical spelling that is stored. */
export type BucketStrategy =
  | { readonly kind: 'round-robin' | 'thread'; readonly text: string }
  | {
      readonly kind: 'partitioned';
      readonly text: string;
      readonly properties: readonly string[];
    };

const partitionedShape = /^partitioned\s*\((.*)\)$/is;
const propertyShape = /^\s*(?:'([^']+)'|"([^"]+)"|([^'"\s,]+))\s*$/;

/**
 * Reads `round-robin`, `thread` or `partitioned('a','b')`, case-insensitively.
 * @throws DatabaseError `IllegalArgument` for anything else
 */
export function parseBucketStrategy(text: string): BucketStrategy {
  const trimmed = text.trim();
  const lower = trimmed.toLowerCase();
  if (lower === 'round-robin' || lower === 'thread') return { kind: lower, text: lower };
  const match = partitionedShape.exec(trimmed);
  const properties = match?.[1]?.split(',').map((part) => {
    const name = propertyShape.exec(part);
    return name?.[1] ?? name?.[2] ?? name?.[3] ?? '';
  });
  if (properties === undefined || properties.includes('')) {
    throw new DatabaseError(
      'IllegalArgument',
      `Bucket selection strategy '${text}' is not one of round-robin, thread, partitioned('<property>',...)`,
    );
  }
  const quoted = properties.map((name) => `'${name}'`).join(',');
  return { kind: 'partitioned', text: `partitioned(${quoted})`, properties };
}
