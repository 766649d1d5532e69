/** ISO 8601 with the offset of the server's time zone, as log lines print it. */
export function formatLogTime(epochMs: number): string {
  const minutes = -new Date(epochMs).getTimezoneOffset();
  const size = Math.abs(minutes);
  const offset = `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60), 2)}:${pad(size % 60, 2)}`;
  return `${formatTimestamp(epochMs).replace(' ', 'T')}${offset}`;
}

/** `yyyy-MM-dd HH:mm:ss.SSS` in the server's time zone, as server events print it (http-api.md 12.1). */
export function formatTimestamp(epochMs: number): string {
  const date = new Date(epochMs);
  const day = `${pad(date.getFullYear(), 4)}-${pad(date.getMonth() + 1, 2)}-${pad(date.getDate(), 2)}`;
  const time = `${pad(date.getHours(), 2)}:${pad(date.getMinutes(), 2)}:${pad(date.getSeconds(), 2)}`;
  return `${day} ${time}.${pad(date.getMilliseconds(), 3)}`;
}

/** `yyyymmdd-HHMMSS` in the server's time zone, for names of files. */
export function formatFileTimestamp(epochMs: number): string {
  return formatTimestamp(epochMs).slice(0, 19).replaceAll(/[-:]/g, '').replace(' ', '-');
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

/** The inverse of `formatFileTimestamp`; undefined for an impossible date. */
export function parseFileTimestamp(text: string): number | undefined {
  const parts = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  const date = new Date(year, month - 1, day, hour, minute, second);
  const isSame = date.getMonth() === month - 1 && date.getDate() === day && hour < 24;
  return isSame && minute < 60 && second < 60 ? date.getTime() : undefined;
}
