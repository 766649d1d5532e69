import { createHash } from 'node:crypto';

/** JSON with sorted keys and without undefined fields: equal values give equal texts. */
export function stableJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${stableJson(item ?? null)}`;
    return `[${text}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields).sort()) {
    const inner = fields[key];
    if (inner !== undefined)
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${stableJson(inner)}`;
  }
  return `{${text}}`;
}

/** 16 hexadecimal digits of SHA-256: enough to see a difference. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(stableJson(value)).digest('hex').slice(0, 16);
}
