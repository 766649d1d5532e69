import type { ByteText } from '#core/text/byte-text.ts';
import { byteTextOf } from '#core/text/byte-text.ts';
import type { Client } from './client.ts';
import { bulk, integerReply, ok, type Wire } from './reply.ts';
import { Told } from './told.ts';

/** CLIENT: what clients tell of themselves when they connect, and what they ask of it. A connection sees itself only. */
export function clientCommand(client: Client, words: readonly ByteText[]): Wire {
  const value = words[2];
  switch ((words[1] ?? '').toUpperCase()) {
    case 'SETNAME':
      client.name = requireName(required(value, 'setname'));
      return ok;
    case 'SETINFO':
      return setInfo(client, required(value, 'setinfo'), required(words[3], 'setinfo'));
    case 'NO-EVICT':
    case 'NO-TOUCH':
      return onOff(value);
    case 'GETNAME':
      return bulk(client.name);
    case 'ID':
      return integerReply(client.id);
    case 'INFO':
    case 'LIST':
      return bulk(`${lineOf(client)}\n`);
    default:
      throw new Told(
        `ERR unknown subcommand '${(words[1] ?? '').slice(0, 128)}'. Try CLIENT INFO.`,
      );
  }
}

function required(word: ByteText | undefined, subcommand: string): ByteText {
  if (word !== undefined) return word;
  throw new Told(`ERR wrong number of arguments for 'client|${subcommand}' command`);
}

function onOff(word: ByteText | undefined): Wire {
  if (/^(on|off)$/i.test(word ?? '')) return ok;
  throw new Told('ERR syntax error');
}

function setInfo(client: Client, attribute: ByteText, value: ByteText): Wire {
  const name = attribute.toUpperCase();
  if (!/^[\x21-\x7e]{0,256}$/.test(value))
    throw new Told(
      `ERR ${attribute.slice(0, 128)} cannot contain spaces, newlines or special characters.`,
    );
  if (name === 'LIB-NAME') client.library = value;
  else if (name === 'LIB-VER') client.libraryVersion = value;
  else throw new Told(`ERR Unrecognized option '${attribute.slice(0, 128)}'`);
  return ok;
}

function lineOf(client: Client): ByteText {
  const { id, address, name, library, libraryVersion, selected, protocol, principal } = client;
  const isInBlock = client.block !== undefined;
  return byteTextOf(
    `id=${id} addr=${address} name=${name} db=${selected ?? 0} multi=${isInBlock ? 1 : -1} user=${principal?.name ?? ''} lib-name=${library} lib-ver=${libraryVersion} resp=${protocol}`,
  );
}

/** Of a connection. */
export function requireName(name: ByteText): ByteText {
  if (/^[\x21-\x7e]{0,256}$/.test(name)) return name;
  throw new Told('ERR Client names cannot contain spaces, newlines or special characters.');
}
