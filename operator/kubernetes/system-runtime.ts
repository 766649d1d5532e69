import { randomBytes, randomUUID } from 'node:crypto';
import type { Log, Runtime } from '../api/runtime.ts';

/** The real clock, timers and randomness; the only reader of them in the operator. */
export const systemRuntime: Runtime = {
  clock: {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
  },
  timers: {
    after: (delayMs, run) => {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
    sleep: (delayMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) {
          resolve();
          return;
        }
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const timer = setTimeout(end, delayMs);
        signal?.addEventListener('abort', end);
      }),
  },
  random: {
    fraction: () => Math.random(),
    secret: randomSecret,
    uuid: () => randomUUID(),
  },
};

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Bytes that would favour the first letters are thrown away. */
function randomSecret(length: number): string {
  const bound = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < bound && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

const levels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof levels)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (levels as readonly string[]).includes(text);
}

/** One JSON object a line, on standard output. */
export function lineLog(least: LogLevel, write: (line: string) => void): Log {
  const at = (level: LogLevel) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const time = new Date(Date.now()).toISOString();
    write(`${JSON.stringify({ level, time, ...fields, message })}\n`);
  };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
