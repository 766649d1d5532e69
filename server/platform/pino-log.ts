import { pino } from 'pino';
import { type Log, type LogFields, oneLine } from '#core/log.ts';
import type { Clock } from '#core/runtime.ts';
import type { LogSink } from './log-sink.ts';
import { formatLogTime } from './timestamp.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  readonly format: 'text' | 'json';
  readonly level: LogLevel;
  readonly sink: LogSink;
  readonly clock: Clock;
}

/** A log whose least level may change while it is in use. */
export interface LeveledLog extends Log {
  setLevel(level: LogLevel): void;
}

/** The process's log: one line for each message, control characters escaped so that no input can forge a line. */
export function createLog(options: LogOptions): LeveledLog {
  return options.format === 'json' ? jsonLog(options) : textLog(options);
}

function jsonLog({ level, sink, clock }: LogOptions): LeveledLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${formatLogTime(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: 'message',
    },
    sink,
  );
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => {
      logger.warn(fields, message);
      sink.flush();
    },
    error: (message, fields = {}) => {
      logger.error(fields, message);
      sink.flush();
    },
    setLevel: (least) => {
      logger.level = least;
    },
  };
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

function textLog({ level, sink, clock }: LogOptions): LeveledLog {
  let least = levels.indexOf(level);
  const writer = (own: LogLevel) => {
    const rank = levels.indexOf(own);
    const label = own.toUpperCase().padEnd(5);
    return (message: string, fields?: LogFields) => {
      if (rank < least) return;
      sink.write(`${formatLogTime(clock.now())} ${label} ${textLine(message, fields)}\n`);
      if (rank >= levels.indexOf('warn')) sink.flush();
    };
  };
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    setLevel: (changed) => {
      least = levels.indexOf(changed);
    },
  };
}

function textLine(message: string, fields: LogFields = {}): string {
  let line = oneLine(message);
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const text = oneLine(String(value));
    line += ` ${name}=${/[\s"=]/.test(text) ? JSON.stringify(text) : text}`;
  }
  return line;
}
