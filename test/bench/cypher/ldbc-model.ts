import type { Value } from '#core/value/value.ts';
import type { LsqbData, LsqbEdgeType, LsqbVertexType } from '../sql/lsqb-data.ts';
import type { LsqbProperties } from '../sql/lsqb-engine.ts';

/** What the reads of `ldbc-reads.ts` are asked for. */
export interface LdbcParameters {
  readonly person: number;
  readonly other: number;
  readonly message: number;
  readonly tag: number;
  readonly name: string;
  readonly month: number;
  readonly date: number;
}

const nameCount = 60;
const dateCount = 1_000_000;

/** A number that looks like chance and depends on the id alone. */
function mixed(id: number, salt: number): number {
  let x = Math.imul(id + salt, 0x9e3779b1) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 0x85ebca6b) >>> 0;
  return (x ^ (x >>> 13)) >>> 0;
}

const nameOf = (id: number): string => `name ${mixed(id, 1) % nameCount}`;
const monthOf = (id: number): number => 1 + (mixed(id, 2) % 12);
const dateOf = (id: number): number => mixed(id, 3) % dateCount;
const sinceOf = (from: number, to: number): number => mixed(from * 31 + to, 4) % dateCount;
const weightOf = (from: number, to: number): number => 1 + (mixed(from * 17 + to, 5) % 64);

/** Names, months and dates of vertices, dates and weights of friendships. */
export const ldbcProperties: LsqbProperties = {
  vertex(type: LsqbVertexType, id: number): Readonly<Record<string, Value>> {
    if (type === 'Person') return { firstName: nameOf(id), birthMonth: monthOf(id) };
    if (type === 'Post' || type === 'Comment') return { date: dateOf(id), content: `text ${id}` };
    return {};
  },
  edge(name: LsqbEdgeType, from: number, to: number): Readonly<Record<string, Value>> {
    if (name !== 'Person_knows_Person') return {};
    return { since: sinceOf(from, to), weight: weightOf(from, to) };
  },
};

/** @param at which of the calls it is */
export function parametersAt({ first, count }: LsqbData, at: number): LdbcParameters {
  const anyOf = (type: LsqbVertexType, salt: number): number =>
    first[type] + (mixed(at, salt) % count[type]);
  return {
    person: anyOf('Person', 11),
    other: anyOf('Person', 12),
    message: at % 2 === 0 ? anyOf('Post', 13) : anyOf('Comment', 13),
    // Tags of low numbers are the popular ones.
    tag: first.Tag + (mixed(at, 14) % Math.min(200, count.Tag)),
    name: `name ${mixed(at, 15) % nameCount}`,
    month: 1 + (mixed(at, 16) % 12),
    date: Math.floor(dateCount * 0.7) + (mixed(at, 17) % Math.floor(dateCount * 0.2)),
  };
}

type Row = readonly (number | string | boolean)[];

/** The answers by plain loops over the lists of the data, for holding the engine's against. */
export class LdbcModel {
  readonly #data: LsqbData;
  readonly #out = new Map<LsqbEdgeType, Map<number, number[]>>();
  readonly #in = new Map<LsqbEdgeType, Map<number, number[]>>();

  constructor(data: LsqbData) {
    this.#data = data;
    for (const [name, { from, to }] of Object.entries(data.edges)) {
      const out = new Map<number, number[]>();
      const into = new Map<number, number[]>();
      for (const [at, source] of from.entries()) {
        const target = to[at] as number;
        listIn(out, source).push(target);
        listIn(into, target).push(source);
      }
      this.#out.set(name as LsqbEdgeType, out);
      this.#in.set(name as LsqbEdgeType, into);
    }
  }

  /** Rows of the read, in its order. @param at its place in `ldbcReads` */
  answer(at: number, p: LdbcParameters): readonly Row[] {
    return (
      [
        () => [
          [nameOf(p.person), monthOf(p.person), this.#next('Person_isLocatedIn_City', p.person)],
        ],
        () => this.#threads(p.person),
        () => this.#friendsByDate(p.person),
        () => [[dateOf(p.message), `text ${p.message}`]],
        () => {
          const author = this.#authorOf(p.message);
          return [[author, nameOf(author)]];
        },
        () => this.#forum(p.message),
        () => this.#replies(p.message),
        () => this.#byName(p.person, p.name),
        () => this.#newest(p.person, p.date),
        () => this.#newTopics(p.person, p.date),
        () => this.#commonTags(p.person, p.tag),
        () => this.#toMeet(p.person, p.month),
        () => [[this.#distances(p.person, Number.POSITIVE_INFINITY).get(p.other) ?? -1]],
        () => this.#lightest(p.person, p.other),
      ][at]?.() ?? []
    );
  }

  #nexts(name: LsqbEdgeType, of: number): readonly number[] {
    return this.#out.get(name)?.get(of) ?? [];
  }

  #befores(name: LsqbEdgeType, of: number): readonly number[] {
    return this.#in.get(name)?.get(of) ?? [];
  }

  #next(name: LsqbEdgeType, of: number): number {
    return this.#nexts(name, of)[0] ?? Number.NaN;
  }

  #friends(of: number): readonly number[] {
    return [...this.#nexts('Person_knows_Person', of), ...this.#befores('Person_knows_Person', of)];
  }

  #authorOf(message: number): number {
    return this.#next('Message_hasCreator_Person', message);
  }

  #isPost(message: number): boolean {
    return message < this.#data.first.Comment;
  }

  #postOf(message: number): number {
    let at = message;
    while (!this.#isPost(at)) at = this.#next('Comment_replyOf_Message', at);
    return at;
  }

  #postsOf(person: number): readonly number[] {
    return this.#befores('Message_hasCreator_Person', person).filter((id) => this.#isPost(id));
  }

  #threads(person: number): readonly Row[] {
    return [...this.#befores('Message_hasCreator_Person', person)]
      .sort((a, b) => dateOf(b) - dateOf(a) || a - b)
      .slice(0, 10)
      .map((message) => [message, this.#postOf(message), this.#authorOf(this.#postOf(message))]);
  }

  #friendsByDate(person: number): readonly Row[] {
    const rows = [
      ...this.#nexts('Person_knows_Person', person).map((to) => [to, sinceOf(person, to)] as const),
      ...this.#befores('Person_knows_Person', person).map(
        (from) => [from, sinceOf(from, person)] as const,
      ),
    ];
    return rows
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .map(([friend, since]) => [friend, nameOf(friend), since]);
  }

  #forum(message: number): readonly Row[] {
    return this.#befores('Forum_containerOf_Post', this.#postOf(message)).map((forum) => [
      forum,
      this.#next('Forum_hasModerator_Person', forum),
    ]);
  }

  #replies(message: number): readonly Row[] {
    const friends = new Set(this.#friends(this.#authorOf(message)));
    return this.#befores('Comment_replyOf_Message', message)
      .map((reply) => ({ reply, author: this.#authorOf(reply) }))
      .sort((a, b) => dateOf(b.reply) - dateOf(a.reply) || a.author - b.author)
      .map(({ reply, author }) => [reply, author, friends.has(author)]);
  }

  #distances(person: number, most: number): Map<number, number> {
    const distances = new Map([[person, 0]]);
    let level = [person];
    for (let depth = 1; depth <= most && level.length > 0; depth += 1) {
      const next: number[] = [];
      for (const friend of level.flatMap((id) => this.#friends(id)))
        if (!distances.has(friend)) {
          distances.set(friend, depth);
          next.push(friend);
        }
      level = next;
    }
    return distances;
  }

  #byName(person: number, name: string): readonly Row[] {
    return [...this.#distances(person, 3)]
      .filter(([id]) => id !== person && nameOf(id) === name)
      .sort((a, b) => a[1] - b[1] || a[0] - b[0])
      .slice(0, 20);
  }

  #newest(person: number, date: number): readonly Row[] {
    return this.#friends(person)
      .flatMap((friend) =>
        this.#befores('Message_hasCreator_Person', friend).map((message) => [
          friend,
          message,
          dateOf(message),
        ]),
      )
      .filter((row) => (row[2] as number) <= date)
      .sort((a, b) => (b[2] as number) - (a[2] as number) || (a[1] as number) - (b[1] as number))
      .slice(0, 20);
  }

  #newTopics(person: number, date: number): readonly Row[] {
    const fresh = new Map<number, number>();
    const old = new Set<number>();
    for (const post of this.#friends(person).flatMap((friend) => this.#postsOf(friend)))
      for (const tag of this.#nexts('Message_hasTag_Tag', post))
        if (dateOf(post) < date) old.add(tag);
        else fresh.set(tag, (fresh.get(tag) ?? 0) + 1);
    return mostOf(new Map([...fresh].filter(([tag]) => !old.has(tag))));
  }

  #commonTags(person: number, tag: number): readonly Row[] {
    const counts = new Map<number, number>();
    for (const friend of this.#distances(person, 2).keys()) {
      if (friend === person) continue;
      for (const post of this.#postsOf(friend)) {
        const tags = this.#nexts('Message_hasTag_Tag', post);
        if (!tags.includes(tag)) continue;
        for (const other of tags)
          if (other !== tag) counts.set(other, (counts.get(other) ?? 0) + 1);
      }
    }
    return mostOf(counts);
  }

  #toMeet(person: number, month: number): readonly Row[] {
    const mine = new Set(this.#nexts('Person_hasInterest_Tag', person));
    const counts = new Map<number, number>();
    for (const [friend, distance] of this.#distances(person, 2))
      if (distance === 2 && monthOf(friend) === month)
        counts.set(
          friend,
          this.#nexts('Person_hasInterest_Tag', friend).filter((tag) => mine.has(tag)).length,
        );
    return mostOf(counts);
  }

  /** Bellman and Ford: rounds until nothing gets lighter. */
  #lightest(from: number, to: number): readonly Row[] {
    const weights = new Map([[from, 0]]);
    const { from: sources, to: targets } = this.#data.edges.Person_knows_Person;
    for (let isChanged = true; isChanged; ) {
      isChanged = false;
      for (const [at, source] of sources.entries()) {
        const target = targets[at] as number;
        const weight = weightOf(source, target);
        for (const [one, other] of [
          [source, target],
          [target, source],
        ] as const) {
          const known = weights.get(one);
          if (known === undefined || known + weight >= (weights.get(other) ?? Infinity)) continue;
          weights.set(other, known + weight);
          isChanged = true;
        }
      }
    }
    const weight = weights.get(to);
    return weight === undefined ? [] : [[weight]];
  }
}

function listIn(lists: Map<number, number[]>, key: number): number[] {
  let list = lists.get(key);
  if (list === undefined) {
    list = [];
    lists.set(key, list);
  }
  return list;
}

/** The ten with the greatest counts. */
function mostOf(counts: ReadonlyMap<number, number>): readonly Row[] {
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 10);
}
