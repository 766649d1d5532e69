import {
  campaign,
  crash,
  firstNode,
  lastTerm,
  onAcknowledged,
  onAppend,
  onGrant,
  onHeartbeat,
  onVote,
  propose,
  type SpecNode,
} from './specification.ts';

/** All states of the specification within bounds, breadth first, each checked. */
export interface Bounds {
  readonly size: number;
  readonly termMax: number;
  readonly logMax: number;
  readonly crashMax: number;
  /** Messages under way at a time. Each may be lost, and so many may come twice. */
  readonly messageMax: number;
  readonly twiceMax: number;
  readonly stateMax: number;
}

type SpecMessage = readonly number[];

const [voteAsked, voteGranted, appendSent, appendTaken, heartbeat] = [1, 2, 3, 4, 5];

interface World {
  readonly nodes: readonly SpecNode[];
  readonly messages: readonly SpecMessage[];
  /** Leader by term, -1: none yet. */
  readonly leaders: readonly number[];
  /** What anybody ever committed, and the newest term that did. */
  readonly committed: readonly number[];
  readonly commitTerm: number;
  readonly crashes: number;
  /** So many messages came twice. */
  readonly twice: number;
  /** Acknowledgements that wait for the disk: per node who, term and index. */
  readonly owed: readonly (readonly number[])[];
}

export class Broken extends Error {}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** Of the states: with a leader, with something committed, and both in a later term than the first. */
  readonly led: number;
  readonly committed: number;
  readonly ledAgain: number;
  readonly isComplete: boolean;
}

/** Where an exploration begins: what is far from the empty group is reached from a scene nearer by. */
export interface Scene {
  readonly nodes: readonly SpecNode[];
  /** Leader by term, from term 1 on. */
  readonly leaders: readonly number[];
  readonly committed: readonly number[];
}

export const scenes: Readonly<Record<string, Scene>> = {
  'from nothing': { nodes: [firstNode, firstNode, firstNode], leaders: [], committed: [] },
  'a leader with an entry that only it has': {
    nodes: [
      leaderOf(1, 0, [1, 1], [2, 1, 0], 1),
      { ...firstNode, term: 1, vote: 0, log: [1], synced: 1 },
      { ...firstNode, term: 1 },
    ],
    leaders: [0],
    committed: [1],
  },
  'two leaders that each have an entry alone': {
    nodes: [
      { ...firstNode, term: 1, vote: 0, log: [1, 1], synced: 2, commit: 1 },
      { ...firstNode, term: 2, vote: 2, log: [1], synced: 1 },
      leaderOf(2, 2, [1, 2], [0, 0, 2], 0),
    ],
    leaders: [0, 2],
    committed: [1],
  },
};

function leaderOf(
  term: number,
  self: number,
  log: readonly number[],
  match: readonly number[],
  commit: number,
): SpecNode {
  return { term, vote: self, role: 'leader', log, synced: log.length, commit, votes: 0, match };
}

export function explore(bounds: Bounds, scene: Scene): Explored {
  const first: World = {
    nodes: scene.nodes,
    messages: [],
    leaders: Array.from({ length: bounds.termMax + 1 }, (_, term) => scene.leaders[term - 1] ?? -1),
    committed: scene.committed,
    commitTerm: scene.leaders.length > 0 ? 1 : 0,
    crashes: 0,
    twice: 0,
    owed: Array.from({ length: bounds.size }, () => []),
  };
  const seen = new Set<string>([keyOf(first)]);
  let edge: World[] = [first];
  const counts = { transitions: 0, led: 0, committed: 0, ledAgain: 0 };
  while (edge.length > 0) {
    const next: World[] = [];
    for (const world of edge) {
      for (const found of successors(world, bounds)) {
        counts.transitions += 1;
        const key = keyOf(found);
        if (seen.has(key)) continue;
        seen.add(key);
        check(found);
        const terms = found.leaders.filter((leader) => leader >= 0).length;
        if (terms > 0) counts.led += 1;
        if (found.committed.length > 0) counts.committed += 1;
        if (terms > 1 && found.committed.length > 0) counts.ledAgain += 1;
        if (seen.size >= bounds.stateMax)
          return { states: seen.size, ...counts, isComplete: false };
        next.push(found);
      }
    }
    edge = next;
  }
  return { states: seen.size, ...counts, isComplete: true };
}

function keyOf({
  nodes,
  messages,
  leaders,
  committed,
  commitTerm,
  crashes,
  twice,
  owed,
}: World): string {
  const parts: number[] = [];
  for (const node of nodes) {
    const role = node.role === 'follower' ? 0 : node.role === 'candidate' ? 1 : 2;
    parts.push(node.term, node.vote + 1, role, node.synced, node.commit, node.votes);
    parts.push(node.match.length, ...node.match, node.log.length, ...node.log);
  }
  for (const waiting of owed) parts.push(waiting.length, ...waiting);
  parts.push(...leaders.map((leader) => leader + 1), committed.length, ...committed, commitTerm);
  parts.push(crashes, twice);
  for (const message of messages) parts.push(message.length, ...message);
  return String.fromCharCode(...parts);
}

function successors(world: World, bounds: Bounds): World[] {
  const found: World[] = [];
  for (let self = 0; self < bounds.size; self++) moves(world, self, bounds, found);
  for (const message of world.messages) {
    const lost = { ...world, messages: world.messages.filter((other) => other !== message) };
    found.push(lost, ...delivered(lost, message, bounds));
    if (world.twice < bounds.twiceMax)
      found.push(...delivered({ ...world, twice: world.twice + 1 }, message, bounds));
  }
  return found;
}

/** What a node does by itself. */
function moves(world: World, self: number, bounds: Bounds, found: World[]): void {
  const node = nodeAt(world, self);
  if (node.role !== 'leader' && node.term < bounds.termMax) {
    const next = campaign(node, self);
    const asked = peersOf(self, bounds).map((to) => [
      voteAsked,
      self,
      to,
      next.term,
      next.log.length,
      lastTerm(next.log),
    ]);
    // The own vote is durable at once: whether others hear of the campaign first makes no difference here.
    found.push(
      ...sent(placed(world, self, onGrant(next, self, next.term, bounds.size)), asked, bounds),
    );
  }
  if (node.synced < node.log.length) found.push(...synced(world, self, bounds));
  if (world.crashes < bounds.crashMax)
    found.push({
      ...placed(world, self, crash(node, node.synced)),
      crashes: world.crashes + 1,
      owed: world.owed.map((waiting, i) => (i === self ? [] : waiting)),
    });
  if (node.role !== 'leader') return;
  if (node.log.length < bounds.logMax) found.push(placed(world, self, propose(node)));
  for (const to of peersOf(self, bounds)) {
    const sure = Math.min(node.match[to] ?? 0, node.commit);
    found.push(...sent(world, [[heartbeat, self, to, node.term, sure]], bounds));
    for (let previous = node.match[to] ?? 0; previous <= node.log.length; previous++) {
      const before = node.log[previous - 1] ?? 0;
      const entry = node.log[previous] ?? 0;
      found.push(
        ...sent(
          world,
          [[appendSent, self, to, node.term, previous, before, entry, node.commit]],
          bounds,
        ),
      );
    }
  }
}

/** The disk has everything now: a leader counts itself, a follower may say so. */
function synced(world: World, self: number, bounds: Bounds): World[] {
  const node = nodeAt(world, self);
  const durable = { ...node, synced: node.log.length };
  const counted =
    node.role === 'leader' ? onAcknowledged(durable, self, node.term, durable.synced) : durable;
  const [to, term, index] = world.owed[self] ?? [];
  const next = {
    ...placed(world, self, counted),
    owed: world.owed.map((waiting, i) => (i === self ? [] : waiting)),
  };
  if (to === undefined || term === undefined || index === undefined) return [next];
  return sent(next, [[appendTaken, self, to, term, index]], bounds);
}

function delivered(world: World, message: SpecMessage, bounds: Bounds): World[] {
  const [type, from = 0, to = 0, term = 0, a = 0, b = 0, c = 0, d = 0] = message;
  const node = nodeAt(world, to);
  switch (type) {
    case voteAsked: {
      const { node: next, isGranted } = onVote(node, { from, term, last: a, lastTerm: b });
      const granted = isGranted ? [[voteGranted, to, from, term]] : [];
      return sent(placed(world, to, next), granted, bounds);
    }
    case voteGranted:
      return [placed(world, to, onGrant(node, from, term, bounds.size))];
    case appendSent: {
      const append = { term, previous: a, previousTerm: b, entries: c === 0 ? [] : [c], commit: d };
      if (term === node.term && node.role === 'leader') throw new Broken('two leaders of a term');
      const { node: next, answer } = onAppend(node, append);
      const after = placed(world, to, next);
      if (typeof answer === 'string') return [after];
      if (answer.index <= next.synced)
        return sent(after, [[appendTaken, to, from, term, answer.index]], bounds);
      const owed = world.owed.map((waiting, i) =>
        i === to ? [from, term, answer.index] : waiting,
      );
      return [{ ...after, owed }];
    }
    case appendTaken:
      return [placed(world, to, onAcknowledged(node, from, term, a))];
    default:
      return [placed(world, to, onHeartbeat(node, term, a))];
  }
}

/** The world with that node, and what becomes history by it. */
function placed(world: World, self: number, node: SpecNode): World {
  const before = nodeAt(world, self);
  const nodes = world.nodes.map((known, i) => (i === self ? node : known));
  let { leaders, committed, commitTerm } = world;
  if (node.role === 'leader' && before.role !== 'leader') {
    const known = leaders[node.term] ?? -1;
    if (known !== -1 && known !== self) throw new Broken(`two leaders of term ${node.term}`);
    leaders = leaders.map((leader, term) => (term === node.term ? self : leader));
    if (node.term > commitTerm && committed.some((term, i) => node.log[i] !== term))
      throw new Broken('a leader lacks what is committed');
  }
  if (node.commit > before.commit) {
    const known = node.log.slice(0, node.commit);
    if (known.some((term, i) => committed[i] !== undefined && committed[i] !== term))
      throw new Broken('two entries are committed at one index');
    if (known.length > committed.length) committed = known;
    if (node.role === 'leader') commitTerm = Math.max(commitTerm, node.term);
  }
  return { ...world, nodes, leaders, committed, commitTerm };
}

/** Messages are a set; beyond the bound the world is not followed. */
function sent(world: World, messages: readonly SpecMessage[], bounds: Bounds): World[] {
  const all = new Map(world.messages.map((message) => [message.join(), message]));
  for (const message of messages) all.set(message.join(), message);
  if (all.size > bounds.messageMax) return [];
  if (all.size === world.messages.length) return [world];
  const sorted = [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, message]) => message);
  return [{ ...world, messages: sorted }];
}

function check({ nodes, committed }: World): void {
  committed.forEach((term, i) => {
    const having = nodes.filter(({ log, synced }) => synced > i && log[i] === term).length;
    if (having * 2 <= nodes.length) throw new Broken(`entry ${i + 1} is not durable on a majority`);
  });
  for (const a of nodes)
    for (const b of nodes)
      a.log.forEach((term, i) => {
        if (b.log[i] === term && a.log.slice(0, i).join() !== b.log.slice(0, i).join())
          throw new Broken('equal entries follow unequal ones');
      });
}

function nodeAt({ nodes }: World, self: number): SpecNode {
  return nodes[self] ?? firstNode;
}

function peersOf(self: number, { size }: Bounds): number[] {
  return Array.from({ length: size }, (_, i) => i).filter((id) => id !== self);
}
