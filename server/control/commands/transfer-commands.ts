import { DatabaseError } from '#core/errors.ts';
import { requireDatabaseName } from '#database/catalogue/database-directory.ts';
import { shownUrl } from '#database/operations/source.ts';
import { takeName } from '../command-parser.ts';
import type { CommandCall, ControlCommand } from '../control-command.ts';
import { askerOf, bodyText } from '../control-command.ts';

// Databases made of an archive or of a file in another format (http-api.md 18.4, 18.5).

/** The name of a database that is not there yet, and a URL. */
function nameAndUrl({ argument, targets }: CommandCall): {
  readonly name: string;
  readonly url: string;
} {
  const { name, rest } = takeName(argument, 'database name');
  requireDatabaseName(name);
  if (targets.databases.exists(name))
    throw new DatabaseError('DatabaseExists', `Database '${name}' already exists`);
  return { name, url: takeUrl(rest) };
}

/** One word, or a text in quotes. */
function takeUrl(text: string): string {
  const quoted = /^(?:'([^']*)'|"([^"]*)")$/.exec(text);
  const url = quoted?.[1] ?? quoted?.[2] ?? text;
  if (url === '') throw new DatabaseError('IllegalArgument', 'the URL is missing');
  if (quoted === null && /\s/.test(url))
    throw new DatabaseError(
      'IllegalArgument',
      'unexpected words after the URL; one with blanks stands in quotes',
    );
  return url;
}

/** Credentials and queries of URLs are nobody's business. */
function maskUrl(argument: string): string {
  const { name, rest } = takeName(argument, 'database name');
  return `${name} ${shownUrl(rest)}`;
}

function nameOf(argument: string): string {
  return takeName(argument, 'database name').name;
}

/** Counts are told at most so often. */
const reportEveryMs = 1000;

export const importDatabase: ControlCommand = {
  phrase: 'import database',
  place: 'leader',
  access: 'root',
  mask: maskUrl,
  completedText: (argument) => `Database '${nameOf(argument)}' imported`,
  run: async (call) => {
    const { name, url } = nameAndUrl(call);
    const { body, report, targets } = call;
    const { clock } = targets.runtime;
    let reportedMs = -Infinity;
    const asker = askerOf(call, ({ counts, percentage }, step) => {
      const nowMs = clock.monotonicMs();
      if (step === '' && nowMs - reportedMs < reportEveryMs) return;
      reportedMs = nowMs;
      const message = step === '' ? {} : { message: `Importing database '${name}': ${step}` };
      report?.({ status: 'progress', ...message, ...counts, percentage });
    });
    const settings = body.get('settings') ?? undefined;
    const counts = await targets.operations.importNew(name, { url, settings }, asker);
    return { result: 'ok', ...counts };
  },
};

export const restoreDatabase: ControlCommand = {
  phrase: 'restore database',
  place: 'leader',
  access: 'root',
  mask: maskUrl,
  completedText: (argument) => `Database '${nameOf(argument)}' restored`,
  run: async (call) => {
    const { name, url } = nameAndUrl(call);
    const { body, report, targets } = call;
    const passphrase = bodyText(body, 'encryptionKey');
    const asker = askerOf(call, (entry, step) => {
      if (step === '') return;
      const message = `Restoring database '${name}': ${step}`;
      report?.({ status: 'progress', message, percentage: entry.percentage });
    });
    await targets.operations.restore(name, { url, passphrase }, asker);
    return { result: 'ok' };
  },
};
