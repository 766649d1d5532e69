import type { ByteText } from '#core/text/byte-text.ts';
import { shownBytes, textOfBytes } from '#core/text/byte-text.ts';
import type { Client } from './client.ts';
import { clientCommand, requireName } from './client-command.ts';
import { Told } from './told.ts';
import { transactionCommands } from './transaction-commands.ts';
import type { WireCommand } from './wire-command.ts';
import { commandSpecs } from '#language/redis/commands.ts';
import { keyCommands, keySpecs } from './key-commands.ts';
import { infoText, spokenVersion } from './info.ts';
import { array, bulk, integerReply, map, ok, type Protocol, type Wire } from './reply.ts';

/** Commands about the connection itself (redis.md 2). */
export const connectionCommands: readonly WireCommand[] = [
  { name: 'AUTH', argumentsMin: 1, argumentsMax: 2, isAlways: true, run: auth },
  { name: 'HELLO', argumentsMin: 0, argumentsMax: many(), isAlways: true, run: hello },
  { name: 'SELECT', argumentsMin: 1, argumentsMax: 1, run: select },
  { name: 'CLIENT', argumentsMin: 1, argumentsMax: many(), run: clientCommand },
  { name: 'COMMAND', argumentsMin: 0, argumentsMax: many(), run: command },
  { name: 'INFO', argumentsMin: 0, argumentsMax: many(), run: info },
  { name: 'CONFIG', argumentsMin: 1, argumentsMax: many(), run: config },
  { name: 'TIME', argumentsMin: 0, argumentsMax: 0, run: time },
  {
    name: 'RESET',
    argumentsMin: 0,
    argumentsMax: 0,
    isAlways: true,
    run: (client) => {
      client.reset();
      return '+RESET\r\n';
    },
  },
  {
    name: 'QUIT',
    argumentsMin: 0,
    argumentsMax: many(),
    isAlways: true,
    run: (client) => {
      client.isClosing = true;
      return ok;
    },
  },
];

function many(): number {
  return Number.POSITIVE_INFINITY;
}

const wrongPass = 'WRONGPASS invalid username-password pair or user is disabled.';

/** A failed login leaves nobody logged in, whoever it was before. */
async function auth(client: Client, words: readonly ByteText[]): Promise<Wire> {
  if (words.length === 2) {
    client.identify(undefined);
    throw new Told(
      `WRONGPASS AUTH needs a user and a password here: AUTH <user> <password>; there is no user 'default'`,
    );
  }
  await login(client, words[1] ?? '', words[2] ?? '');
  return ok;
}

/** The same check as for HTTP: locks, audit and remembered passwords are shared. @throws Told */
async function login(client: Client, user: ByteText, password: ByteText): Promise<void> {
  const { authenticator } = client.surroundings;
  const name = textOfBytes(user);
  const isWhole = name !== undefined && name !== '' && !name.includes(':');
  if (isWhole) {
    const credentials = Buffer.from(`${user}:${password}`, 'latin1').toString('base64');
    const header = `Basic ${credentials}`;
    const outcome =
      authenticator.authenticateNow(header) ??
      (await authenticator.authenticate(header, { source: client.address }));
    if (outcome.principal !== undefined) {
      client.identify(outcome.principal);
      return;
    }
    client.identify(undefined);
    if (outcome.refusal === 'busy')
      throw new Told('TRYAGAIN too many logins wait for their passwords to be checked');
  } else client.identify(undefined);
  throw new Told(wrongPass);
}

interface Greeting {
  readonly protocol: Protocol | undefined;
  readonly user: ByteText | undefined;
  readonly password: ByteText;
  readonly name: ByteText | undefined;
}

async function hello(client: Client, words: readonly ByteText[]): Promise<Wire> {
  const greeting = readHello(words);
  if (greeting.user !== undefined) await login(client, greeting.user, greeting.password);
  if (client.principal === undefined)
    throw new Told(
      'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
    );
  client.protocol = greeting.protocol ?? client.protocol;
  if (greeting.name !== undefined) client.name = greeting.name;
  const { protocol } = client;
  const entries: (readonly [ByteText, Wire])[] = [
    ['server', bulk('redis')],
    ['version', bulk(spokenVersion)],
    ['proto', integerReply(protocol)],
    ['id', integerReply(client.id)],
    ['mode', bulk('standalone')],
    ['role', bulk('master')],
    ['modules', array([])],
  ];
  return map(entries, protocol);
}

function readHello(words: readonly ByteText[]): Greeting {
  const version = words[1];
  if (version !== undefined && !/^-?\d+$/.test(version))
    throw new Told('ERR Protocol version is not an integer or out of range');
  if (version !== undefined && version !== '2' && version !== '3')
    throw new Told('NOPROTO unsupported protocol version');
  let user: ByteText | undefined;
  let password = '';
  let name: ByteText | undefined;
  for (let at = 2; at < words.length; at += 1) {
    const option = (words[at] ?? '').toUpperCase();
    if (option === 'AUTH' && at + 2 < words.length) {
      user = words[at + 1];
      password = words[at + 2] ?? '';
      at += 2;
    } else if (option === 'SETNAME' && at + 1 < words.length) {
      name = requireName(words[at + 1] ?? '');
      at += 1;
    } else throw new Told('ERR Syntax error in HELLO');
  }
  const protocol = version === undefined ? undefined : version === '3' ? 3 : 2;
  return { protocol, user, password, name };
}

function select(client: Client, words: readonly ByteText[]): Wire | Promise<Wire> {
  const wait = client.beforeRead();
  return wait === undefined
    ? selectHere(client, words)
    : wait.then(() => selectHere(client, words));
}

/** Databases have names here; clients that number them mean the one they are in by 0. */
function selectHere(client: Client, words: readonly ByteText[]): Wire {
  const name = words[1] ?? '';
  const { databases } = client.surroundings;
  const isNumber = /^-?\d+$/.test(name);
  if (isNumber && !databases.exists(name)) {
    if (name === '0') return ok;
    throw new Told('ERR DB index is out of range');
  }
  client.rights.requireSelectable(shownBytes(name));
  client.select(name);
  return ok;
}

function command(client: Client, words: readonly ByteText[]): Wire {
  switch ((words[1] ?? '').toUpperCase()) {
    case 'COUNT':
      return integerReply(commandCount());
    case 'DOCS':
      return map([], client.protocol);
    case '':
    case 'INFO':
    case 'LIST':
      return array([]);
    default:
      throw new Told(`ERR unknown subcommand '${(words[1] ?? '').slice(0, 128)}'.`);
  }
}

function commandCount(): number {
  const own = [connectionCommands, transactionCommands, keyCommands, keySpecs];
  return own.reduce((sum, list) => sum + list.length, commandSpecs.size);
}

function info(client: Client, words: readonly ByteText[]): Wire {
  return bulk(infoText(client.surroundings, words.slice(1)));
}

/** The settings of the server are read over HTTP. */
function config(client: Client, words: readonly ByteText[]): Wire {
  if ((words[1] ?? '').toUpperCase() === 'GET') return map([], client.protocol);
  throw new Told(
    `ERR unknown subcommand '${(words[1] ?? '').slice(0, 128)}'. Settings are changed over HTTP`,
  );
}

function time(client: Client): Wire {
  const now = client.surroundings.runtime.clock.now();
  const seconds = Math.floor(now / 1000);
  return array([bulk(String(seconds)), bulk(String(Math.floor((now - seconds * 1000) * 1000)))]);
}
