import type { ByteText } from '#core/text/byte-text.ts';
import type { Client } from './client.ts';
import type { Given } from './reply.ts';

/** A command that only the wire has. */
export interface WireCommand {
  readonly name: string;
  readonly argumentsMin: number;
  readonly argumentsMax: number;
  /** It is carried out before a login, and between MULTI and EXEC, too. */
  readonly isAlways?: true;
  /** @throws DatabaseError, Told */
  readonly run: (client: Client, words: readonly ByteText[]) => Given;
}
