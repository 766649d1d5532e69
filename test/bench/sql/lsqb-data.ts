import { mulberry32 } from '../spine/data.ts';

/**
 * A seeded social network with the schema of LSQB (Mhedhbi et al., GRADES-NDA 2021) and about the size of its scale factor
 * 0.1: 330,000 vertices, 1.5 million edges. Distributions are skewed as in LDBC's generator, which is not reproduced.
 */

export const lsqbVertexTypes = [
  'Continent',
  'Country',
  'City',
  'TagClass',
  'Tag',
  'Person',
  'Forum',
  'Post',
  'Comment',
] as const;
export type LsqbVertexType = (typeof lsqbVertexTypes)[number];

/** Name, type of the source, type of the target. `Message` stands for Post and Comment. */
export const lsqbEdgeTypes = [
  ['Country_isPartOf_Continent', 'Country', 'Continent'],
  ['City_isPartOf_Country', 'City', 'Country'],
  ['TagClass_isSubclassOf_TagClass', 'TagClass', 'TagClass'],
  ['Tag_hasType_TagClass', 'Tag', 'TagClass'],
  ['Person_isLocatedIn_City', 'Person', 'City'],
  ['Person_hasInterest_Tag', 'Person', 'Tag'],
  ['Person_knows_Person', 'Person', 'Person'],
  ['Forum_hasModerator_Person', 'Forum', 'Person'],
  ['Forum_hasMember_Person', 'Forum', 'Person'],
  ['Forum_hasTag_Tag', 'Forum', 'Tag'],
  ['Forum_containerOf_Post', 'Forum', 'Post'],
  ['Message_hasCreator_Person', 'Message', 'Person'],
  ['Message_isLocatedIn_Country', 'Message', 'Country'],
  ['Message_hasTag_Tag', 'Message', 'Tag'],
  ['Comment_replyOf_Message', 'Comment', 'Message'],
  ['Person_likes_Message', 'Person', 'Message'],
] as const;
export type LsqbEdgeType = (typeof lsqbEdgeTypes)[number][0];

/** Vertices are numbered through all types in the order of `lsqbVertexTypes`: `first[type]` up to `first[type] + count`. */
export interface LsqbData {
  readonly first: Readonly<Record<LsqbVertexType, number>>;
  readonly count: Readonly<Record<LsqbVertexType, number>>;
  readonly edges: Readonly<
    Record<LsqbEdgeType, { readonly from: Uint32Array; readonly to: Uint32Array }>
  >;
}

const counts: Readonly<Record<LsqbVertexType, number>> = {
  Continent: 6,
  Country: 111,
  City: 1_343,
  TagClass: 71,
  Tag: 16_080,
  Person: 1_700,
  Forum: 14_500,
  Post: 140_000,
  Comment: 156_000,
};

/** @param share of the full size, for tests of the bench itself */
export function makeLsqbData(share = 1, seed = 7): LsqbData {
  return new Generator(share, mulberry32(seed)).run();
}

class Generator {
  readonly #random: () => number;
  readonly #first = {} as Record<LsqbVertexType, number>;
  readonly #count = {} as Record<LsqbVertexType, number>;
  readonly #lists = new Map<LsqbEdgeType, { from: number[]; to: number[] }>();

  constructor(share: number, random: () => number) {
    this.#random = random;
    let next = 0;
    for (const type of lsqbVertexTypes) {
      this.#first[type] = next;
      this.#count[type] = Math.max(3, Math.ceil(counts[type] * share));
      next += this.#count[type];
    }
    for (const [name] of lsqbEdgeTypes) this.#lists.set(name, { from: [], to: [] });
  }

  run(): LsqbData {
    this.#places();
    this.#tags();
    this.#persons();
    this.#forums();
    this.#messages();
    const edges = {} as Record<LsqbEdgeType, { from: Uint32Array; to: Uint32Array }>;
    for (const [name, { from, to }] of this.#lists)
      edges[name] = { from: Uint32Array.from(from), to: Uint32Array.from(to) };
    return { first: this.#first, count: this.#count, edges };
  }

  #places(): void {
    this.#each('Country', (country) => {
      this.#add('Country_isPartOf_Continent', country, this.#any('Continent'));
    });
    this.#each('City', (city) => {
      this.#add('City_isPartOf_Country', city, this.#popular('Country'));
    });
  }

  #tags(): void {
    this.#each('TagClass', (tagClass, rank) => {
      if (rank > 0) {
        const parent = this.#first.TagClass + Math.floor(this.#random() * rank);
        this.#add('TagClass_isSubclassOf_TagClass', tagClass, parent);
      }
    });
    this.#each('Tag', (tag) => {
      this.#add('Tag_hasType_TagClass', tag, this.#popular('TagClass'));
    });
  }

  #persons(): void {
    this.#each('Person', (person) => {
      this.#add('Person_isLocatedIn_City', person, this.#popular('City'));
      this.#several('Person_hasInterest_Tag', person, 23, () => this.#popular('Tag'));
    });
    // Friendships are undirected: each pair once, the smaller number as the source.
    const pairs = new Set<number>();
    const wanted = Math.floor(this.#count.Person * 9.5);
    for (let tries = 0; pairs.size < wanted && tries < wanted * 20; tries += 1) {
      const one = this.#popular('Person');
      const other = this.#any('Person');
      if (one === other) continue;
      const [low, high] = one < other ? [one, other] : [other, one];
      const key = low * 4_194_304 + high;
      if (pairs.has(key)) continue;
      pairs.add(key);
      this.#add('Person_knows_Person', low, high);
    }
  }

  #forums(): void {
    this.#each('Forum', (forum) => {
      this.#add('Forum_hasModerator_Person', forum, this.#popular('Person'));
      this.#several('Forum_hasMember_Person', forum, 8.5, () => this.#any('Person'));
      this.#several('Forum_hasTag_Tag', forum, 3.3, () => this.#popular('Tag'));
    });
  }

  #messages(): void {
    this.#each('Post', (post) => {
      this.#add('Forum_containerOf_Post', this.#popular('Forum'), post);
      this.#message(post, 0.4);
      this.#several('Person_likes_Message', post, 0.35, () => this.#popular('Person'), true);
    });
    this.#each('Comment', (comment, rank) => {
      const isReplyToPost = rank === 0 || this.#random() < 0.5;
      const parent = isReplyToPost
        ? this.#popular('Post')
        : this.#first.Comment + Math.floor(this.#random() * rank);
      this.#add('Comment_replyOf_Message', comment, parent);
      this.#message(comment, 1.25);
      this.#several('Person_likes_Message', comment, 0.4, () => this.#popular('Person'), true);
    });
  }

  #message(message: number, tags: number): void {
    this.#add('Message_hasCreator_Person', message, this.#popular('Person'));
    this.#add('Message_isLocatedIn_Country', message, this.#popular('Country'));
    this.#several('Message_hasTag_Tag', message, tags, () => this.#popular('Tag'));
  }

  /** A number of different partners, geometrically distributed about `mean`. */
  #several(
    name: LsqbEdgeType,
    vertex: number,
    mean: number,
    pick: () => number,
    isReversed = false,
  ): void {
    const taken = new Set<number>();
    const count = Math.floor(-Math.log(1 - this.#random()) * (mean + 0.4));
    for (let tries = 0; taken.size < count && tries < count * 2; tries += 1) {
      const partner = pick();
      if (taken.has(partner)) continue;
      taken.add(partner);
      if (isReversed) this.#add(name, partner, vertex);
      else this.#add(name, vertex, partner);
    }
  }

  #add(name: LsqbEdgeType, from: number, to: number): void {
    const list = this.#lists.get(name);
    list?.from.push(from);
    list?.to.push(to);
  }

  #each(type: LsqbVertexType, visit: (vertex: number, rank: number) => void): void {
    for (let rank = 0; rank < this.#count[type]; rank += 1) visit(this.#first[type] + rank, rank);
  }

  #any(type: LsqbVertexType): number {
    return this.#first[type] + Math.floor(this.#random() * this.#count[type]);
  }

  /** Density falls as rank^-1/2. */
  #popular(type: LsqbVertexType): number {
    const u = this.#random();
    return this.#first[type] + Math.floor(u * u * this.#count[type]);
  }
}
