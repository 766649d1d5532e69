import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { runCommandLine } from '#cli/command-line.ts';
import type { TestDatabase } from '../database/support/open-test-database.ts';
import { startDatabaseDoor } from '../http/database-door.ts';
import type { DoorFixture } from '../http/door-fixture.ts';

/** What a command line printed, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly messages: string;
}

export interface CommandLine {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
  readonly directory: string;
  /** Runs `polyad` with these words; `input` is what comes through a pipe. */
  run(
    words: readonly string[],
    input?: string | Uint8Array,
    environment?: Environment,
  ): Promise<Ran>;
  /** Runs `polyad` at a terminal. */
  open(words: readonly string[], environment?: Environment): Conversation;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A terminal with somebody at it. */
export interface Conversation {
  readonly ended: Promise<number>;
  /** Everything that was shown so far. */
  shown(): string;
  type(text: string): void;
  /** Resolves when the text was shown behind everything that was waited for before. */
  until(text: string): Promise<void>;
}

/** Database `test` on a real door, and the command line in front of it. */
export async function commandLine(
  context: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<CommandLine> {
  const { door, data: opened } = await startDatabaseDoor(context, { ofDatabase: settings });
  const directory = mkdtempSync(join(tmpdir(), 'polyad-cli-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const base = {
    POLYAD_URL: `http://127.0.0.1:${door.port}`,
    POLYAD_PASSWORD: 'password',
    POLYAD_HISTORY: join(directory, 'history'),
  };
  const start = (words: readonly string[], isTTY: boolean, environment: Environment) => {
    const input = Object.assign(new PassThrough(), { isTTY });
    const output = Object.assign(new PassThrough(), { isTTY, columns: 80 });
    const messages = Object.assign(new PassThrough(), { isTTY, columns: 80 });
    const texts = { output: '', messages: '' };
    let changed = () => {};
    for (const name of ['output', 'messages'] as const)
      ({ output, messages })[name].on('data', (piece) => {
        texts[name] += String(piece);
        changed();
      });
    const ended = runCommandLine(words, {
      input,
      output,
      messages,
      environment: { ...base, ...environment },
      nowMs: () => performance.now(),
    });
    const onChange = (listener: () => void) => {
      changed = listener;
    };
    return { input, texts, ended, onChange };
  };
  return {
    door,
    data: opened,
    directory,
    run: async (words, input = '', environment = {}) => {
      const started = start(words, false, environment);
      started.input.end(input);
      const code = await started.ended;
      await new Promise((done) => setImmediate(done));
      return { code, ...started.texts };
    },
    open: (words, environment = {}) => {
      const { input, texts, ended, onChange } = start(words, true, environment);
      let seen = 0;
      const shown = () => texts.messages + texts.output;
      return {
        ended,
        shown,
        type: (text) => void input.write(text),
        until: (text) =>
          new Promise((resolve) => {
            const look = () => {
              const at = shown().indexOf(text, seen);
              if (at < 0) return;
              seen = at + text.length;
              onChange(() => {});
              resolve();
            };
            onChange(look);
            look();
          }),
      };
    },
  };
}
