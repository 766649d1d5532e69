const factors: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kb: 1024,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
  t: 1024 ** 4,
  tb: 1024 ** 4,
  tib: 1024 ** 4,
};

/** A whole number, or undefined when the text is none or not exact. */
export function parseCount(text: string): number | undefined {
  if (!/^[+-]?\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Bytes from `1048576`, `10MB`, `2 GB`, `512k` (powers of 1,024), or undefined. */
export function parseSize(text: string): number | undefined {
  const match = /^([+-]?\d{1,16})\s*([a-z]{0,3})$/i.exec(text);
  const factor = factors[match?.[2]?.toLowerCase() ?? ''];
  if (!match || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** `1048576` as `1 MiB`; sizes that are no round multiple stay bytes. */
export function sizeText(bytes: number): string {
  const units = ['GiB', 'MiB', 'KiB'];
  for (const [index, unit] of units.entries()) {
    const factor = 1024 ** (units.length - index);
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor} ${unit}`;
  }
  return `${bytes} B`;
}
