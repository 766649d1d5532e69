import type { Readable, Writable } from 'node:stream';

/** What a command reads and writes; tests put streams of their own in its place. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** Messages, questions and bars. */
  readonly messages: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Milliseconds on a clock that never goes back. */
  readonly nowMs: () => number;
}

/** Exit codes of the command line, as `--help` lists them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  /** Done, and a limit kept rows back. */
  cut: 5,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a message for people. */
export class CommandFailure {
  readonly code: ExitCode;
  readonly message: string;
  /** In the statement that failed; the message tells it, too. */
  readonly place: { readonly line: number; readonly column: number } | undefined;

  constructor(
    code: ExitCode,
    message: string,
    place?: { readonly line: number; readonly column: number },
  ) {
    this.code = code;
    this.message = message;
    this.place = place;
  }
}

/** The command line is wrong. */
export function wrongUse(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, `${message} (polyad --help tells more)`);
}

/** Writes, waiting while the reader is slow. */
export function write(stream: Writable, text: string): Promise<void> {
  if (stream.write(text)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

/** Text of a server as it may be shown: what could steer the terminal becomes visible. */
export function printable(text: string): string {
  return text.replaceAll(
    // Tabulator and line feed stay.
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
