import { DatabaseError } from '#core/errors.ts';
import type { Random } from '#core/runtime.ts';
import type { DatabasesLog } from '#database/catalogue/databases.ts';
import { entryKind } from '../replication/entry-codec.ts';
import type { ServerProposer } from '../replication/server-proposer.ts';
import { encodeBody } from './entry-bodies.ts';
import type { StageDesk } from '../staging/stage-desk.ts';
import type { ServerCatalog } from './server-catalog.ts';

/** Databases that come and go in a cluster: by an entry that every server carries out (ha.md 5.11). */
export class DatabaseLog implements DatabasesLog {
  readonly #catalog: ServerCatalog;
  readonly #proposer: ServerProposer;
  readonly #desk: Pick<StageDesk, 'install'>;
  readonly #random: Random;

  constructor(
    catalog: ServerCatalog,
    {
      proposer,
      desk,
      random,
    }: { proposer: ServerProposer; desk: Pick<StageDesk, 'install'>; random: Random },
  ) {
    this.#catalog = catalog;
    this.#proposer = proposer;
    this.#desk = desk;
    this.#random = random;
  }

  async create(name: string): Promise<void> {
    const uuid = this.#random.uuid();
    await this.#proposer.propose(entryKind.databaseCreate, encodeBody({ uuid, name, offset: 0 }));
    if (this.#catalog.member(uuid) === undefined)
      throw new DatabaseError('DatabaseExists', `Database '${name}' already exists`);
  }

  async install(
    name: string,
    fill: (directory: string) => Promise<void>,
    { replaces }: { readonly replaces: boolean },
  ): Promise<void> {
    const uuid = await this.#desk.install(name, fill, replaces);
    if (this.#catalog.member(uuid) !== undefined) return;
    if (this.#catalog.memberNamed(name) !== undefined)
      throw new DatabaseError('DatabaseExists', `Database '${name}' already exists`);
    throw new DatabaseError('QuorumNotReached', 'the leader changed meanwhile; run it again');
  }

  async drop(name: string): Promise<void> {
    const member = this.#catalog.memberNamed(name);
    if (member === undefined)
      throw new DatabaseError(
        'NotSupported',
        `not supported: dropping '${name}' in a cluster, of which it is no member`,
      );
    await this.#proposer.propose(entryKind.databaseDrop, Buffer.from(member.uuid));
  }
}
