import { Block } from './block.ts';
import { Told } from './told.ts';
import type { WireCommand } from './wire-command.ts';
import { ok } from './reply.ts';

/** MULTI and its kin (redis.md 6). */
export const transactionCommands: readonly WireCommand[] = [
  {
    name: 'MULTI',
    argumentsMin: 0,
    argumentsMax: 0,
    run: (client) => {
      if (client.block !== undefined) throw new Told('ERR MULTI calls can not be nested');
      client.block = new Block();
      return ok;
    },
  },
  {
    name: 'EXEC',
    argumentsMin: 0,
    argumentsMax: 0,
    run: (client) => {
      if (client.block === undefined) throw new Told('ERR EXEC without MULTI');
      return client.block.execute(client);
    },
  },
  {
    name: 'DISCARD',
    argumentsMin: 0,
    argumentsMax: 0,
    run: (client) => {
      if (client.block === undefined) throw new Told('ERR DISCARD without MULTI');
      client.forgetBlock();
      return ok;
    },
  },
  {
    name: 'WATCH',
    argumentsMin: 1,
    argumentsMax: Number.POSITIVE_INFINITY,
    run: (client, words) => {
      if (client.block !== undefined) throw new Told('ERR WATCH inside MULTI is not allowed');
      for (const key of words.slice(1)) client.watchKey(key);
      return ok;
    },
  },
  {
    name: 'UNWATCH',
    argumentsMin: 0,
    argumentsMax: 0,
    run: (client) => {
      if (client.block === undefined) client.unwatch();
      return ok;
    },
  },
];
