/** The log as rooms below `platform` see it; `platform/pino-log.ts` is the implementation. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Never a secret, never a whole statement. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Without what could end a line or steer a terminal: blanks stand there instead. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ');
}
