import { DatabaseError } from '#core/errors.ts';
import { merged } from './config.ts';
import { type BackupConfig, fileShape } from './config-form.ts';
import { isPossibleCron } from './schedule.ts';

// Reads and checks `config/backup.json`. Loaded when there is such a file, as its form is.

/**
 * Checks a configuration as it comes from a command.
 * @throws DatabaseError `IllegalArgument` naming the field
 */
export function parseBackupConfig(value: unknown): BackupConfig {
  const config = checkForm(value);
  const [impossible] = impossibleSchedules(config);
  if (impossible !== undefined) throw invalid(impossible);
  return config;
}

/**
 * What is said of each schedule that no date fulfils, such as 30 February. In a file it concerns its databases only (http-api.md
 * 18.2): they have no backups, the others do.
 */
export function impossibleSchedules(config: BackupConfig): readonly string[] {
  const places: readonly (readonly [string, string | undefined])[] = [
    ['defaults', config.defaults.schedule?.expression],
    ...Object.entries(config.databases).map(
      ([name, { schedule }]) => [`databases.${name}`, schedule?.expression] as const,
    ),
  ];
  return places
    .filter(([, expression]) => expression !== undefined && !isPossibleCron(expression))
    .map(
      ([place, text]) => `${place}.schedule.expression: no date fulfils the expression '${text}'`,
    );
}

function checkForm(value: unknown): BackupConfig {
  const parsed = fileShape.safeParse(value);
  if (parsed.success) {
    requireExpressions(parsed.data);
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])].join('.');
  const reason = unknown === undefined ? issue?.message : 'unknown field';
  throw invalid(
    path === '' ? `it is no object of the expected form (${reason})` : `${path}: ${reason}`,
  );
}

/** As `parseBackupConfig`, from the text of a file, in which a schedule may be impossible. */
export function parseBackupText(text: string): BackupConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(`it is no JSON (${cause instanceof Error ? cause.message : cause})`);
  }
  return checkForm(value);
}

function invalid(reason: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `invalid backup configuration: ${reason}`);
}

function requireExpressions(config: BackupConfig): void {
  for (const name of [undefined, ...Object.keys(config.databases)]) {
    const { schedule } = merged(config, name);
    if (schedule.type !== 'cron' || schedule.expression !== undefined) continue;
    const where = name === undefined ? 'defaults' : `databases.${name}`;
    throw invalid(`${where}.schedule.expression: a schedule of type 'cron' needs it`);
  }
}
