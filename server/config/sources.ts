import { DatabaseError } from '#core/errors.ts';
import { haGroupCommitBatchSize } from './cluster-log-settings.ts';
import { Settings } from './effective-settings.ts';
import { allSettings, requireSetting, settingOfVariable } from './registry.ts';
import { serverRootPath } from './server-settings.ts';
import { settingPrefix } from './setting.ts';

/*
 * Where settings come from (house decision 3), weakest first: defaults, config/service.json, SERVICE_SETTINGS, one
 * environment variable per key, command line. Unknown keys are refused by name wherever they stand. This file has no I/O:
 * `loadSettings` is given a reader, since the file lies below the root path that the stronger sources name.
 */

export interface SettingSources {
  /** Without the interpreter and the script. */
  readonly commandLine: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The text of `config/service.json` below `rootPath` (`''` when none was named), or undefined. */
  readonly readFile: (rootPath: string) => string | undefined;
}

export interface LoadedSettings {
  readonly settings: Settings;
  /** Arguments that are no settings, such as `--version`. */
  readonly switches: readonly string[];
  /** Wrong values that were replaced by defaults, as sentences for the log. */
  readonly warnings: readonly string[];
}

type Texts = Map<string, { readonly text: string; readonly origin: string }>;

/** @throws DatabaseError `InvalidSetting` for an unknown key and for a wrong value of a setting that is `fatal` */
export function loadSettings(sources: SettingSources): LoadedSettings {
  const strong: Texts = new Map();
  for (const word of splitWords(sources.environment['SERVICE_SETTINGS'] ?? ''))
    put(strong, parseAssignment(word, 'SERVICE_SETTINGS'), 'SERVICE_SETTINGS');
  readVariables(sources.environment, strong);
  const switches: string[] = [];
  for (const argument of sources.commandLine) {
    const assignment = commandLineAssignment(argument);
    if (assignment === undefined) switches.push(argument);
    else put(strong, assignment, 'the command line');
  }
  const texts: Texts = new Map();
  const file = sources.readFile(strong.get(serverRootPath.key)?.text ?? '');
  if (file !== undefined) readConfigurationFile(file, texts);
  for (const [key, entry] of strong) texts.set(key, entry);
  return { switches, ...check(texts) };
}

function check(texts: Texts): { settings: Settings; warnings: readonly string[] } {
  const good = new Map<string, string>();
  const warnings: string[] = [];
  for (const [key, { text, origin }] of texts) {
    const spec = requireSetting(key);
    try {
      spec.parse(text);
      good.set(key, text);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      const message = `${error.message} (from ${origin})`;
      if (spec.fatal) throw new DatabaseError('InvalidSetting', message);
      warnings.push(`${message}; using the default '${spec.format(spec.default)}'`);
    }
  }
  return { settings: new Settings(good), warnings };
}

interface Assignment {
  readonly key: string;
  readonly text: string;
}

function put(texts: Texts, { key, text }: Assignment, origin: string): void {
  texts.set(requireSetting(key).key, { text, origin });
}

/** `key=value` with an optional leading `-D` or `--`. */
function parseAssignment(word: string, origin: string): Assignment {
  const body = word.replace(/^(?:-D|--)/, '');
  const equals = body.indexOf('=');
  if (equals > 0) return { key: body.slice(0, equals), text: body.slice(equals + 1) };
  throw new DatabaseError(
    'InvalidSetting',
    `'${word}' in ${origin} is no setting; write key=value, separated by blanks`,
  );
}

function commandLineAssignment(argument: string): Assignment | undefined {
  if (/^-D/.test(argument)) return parseAssignment(argument, 'the command line');
  if (/^-X/.test(argument))
    throw new DatabaseError(
      'InvalidSetting',
      `'${argument}' is an option of another runtime; pass settings as -D<key>=<value>`,
    );
  if (/^(--)?[\w.]+=/.test(argument)) return parseAssignment(argument, 'the command line');
  return undefined;
}

/**
 * Words separated by white space; single and double quotes keep white space and may stand anywhere in a word. In double
 * quotes a backslash escapes a quote and itself.
 */
export function splitWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (quote === '"' && char === '\\' && /["\\]/.test(text[i + 1] ?? '')) word += text[++i] ?? '';
    else if (quote !== '' && char === quote) quote = '';
    else if (quote !== '') word += char;
    else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '')
    throw new DatabaseError('InvalidSetting', `SERVICE_SETTINGS has an unclosed quote ${quote}`);
  if (word !== undefined) words.push(word);
  return words;
}

// Kubernetes injects these for every service of the namespace; with a service named `service` they carry our prefix.
const serviceLink = /_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT$|_PORT_\d+_(TCP|UDP)(_\w+)?$/;

/** Names that the contract gives to variables of their own. */
const contractVariables = new Map([['HA_RAFT_GROUP_COMMIT_BATCH_SIZE', haGroupCommitBatchSize]]);

function readVariables(environment: SettingSources['environment'], texts: Texts): void {
  const exact = new Map(allSettings.map((spec) => [spec.key.toLowerCase(), spec]));
  for (const [name, text] of Object.entries(environment)) {
    const named = contractVariables.get(name);
    if (text !== undefined && named !== undefined)
      texts.set(named.key, { text, origin: `variable ${name}` });
    if (text === undefined || !/^service[_.]/i.test(name) || name === 'SERVICE_SETTINGS') continue;
    const spec = settingOfVariable(name) ?? exact.get(name.toLowerCase());
    if (spec) texts.set(spec.key, { text, origin: `variable ${name}` });
    else if (name.startsWith(settingPrefix)) requireSetting(name);
    else if (/^SERVICE_[A-Z0-9_]+$/.test(name) && !serviceLink.test(name))
      throw new DatabaseError(
        'InvalidSetting',
        `environment variable ${name} names no setting; see GET /api/v1/server for the list`,
      );
  }
}

function readConfigurationFile(text: string, texts: Texts): void {
  const origin = 'config/service.json';
  const entries = parseConfigurationFile(text, origin);
  for (const [key, value] of entries) {
    const spec = requireSetting(key);
    if (spec === (serverRootPath as unknown))
      throw new DatabaseError('InvalidSetting', `${spec.key} cannot stand in ${origin}`);
    if (typeof value === 'object')
      throw new DatabaseError('InvalidSetting', `${spec.key} in ${origin} must be text or number`);
    texts.set(spec.key, { text: String(value), origin });
  }
}

function parseConfigurationFile(text: string, origin: string): [string, unknown][] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new DatabaseError('InvalidSetting', `${origin} is not JSON: ${String(cause)}`);
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
    return Object.entries(parsed);
  throw new DatabaseError('InvalidSetting', `${origin} must hold one object of settings`);
}
