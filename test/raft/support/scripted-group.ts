import assert from 'node:assert/strict';
import type { ConfChange, ConfStep } from '#raft/membership.ts';
import type { Message } from '#raft/message.ts';
import { RaftNode } from '#raft/node.ts';
import { defaultRaftLimits, type RaftLimits } from '#raft/options.ts';
import type { AppendJob, ApplyJob } from '#raft/ready.ts';
import type { ConfState, Member, PeerId } from '#raft/vocabulary.ts';
import { confText, entryText, jobText, messageText } from './raft-text.ts';
import { StoredLog } from './stored-log.ts';

interface Seat {
  readonly id: PeerId;
  readonly log: StoredLog;
  node: RaftNode | undefined;
  writes: AppendJob[];
  applies: ApplyJob[];
  admitted: boolean;
}

const roundsMax = 200;

/**
 * A few cores, their disks and the links between them, moved by commands; every output of a core is a line of the trace. Messages
 * wait on their link until `deliver` or `stabilize`, writes until `disk`, entries until `apply`.
 */
export class ScriptedGroup {
  readonly #seats = new Map<PeerId, Seat>();
  readonly #limits: RaftLimits;
  readonly #first: ConfState;
  readonly #members = new Map<PeerId, Member>();
  readonly #canLead = new Map<PeerId, boolean>();
  #network: Message[] = [];
  #trace: string[] = [];

  /** Options: size, learners, spares, empty (not admitted), priority=2:5, follows=3 (cannot lead), pinned=3, free=2 (their own settings), pre-vote=off, check-quorum=off, and limits by name. */
  constructor(options: ReadonlyMap<string, string>) {
    const count = (name: string) => Number(options.get(name) ?? 0);
    const [voters, learners, spares] = [count('size') || 3, count('learners'), count('spares')];
    const priorities = pairsOf(options.get('priority'));
    const led = new Set(options.get('follows')?.split(','));
    const empty = new Set(options.get('empty')?.split(','));
    for (let i = 1; i <= voters + learners + spares; i++) {
      const id = String(i);
      this.#members.set(id, {
        id,
        address: `${id}:2434`,
        priority: Number(priorities.get(id) ?? 0),
        canLead: !led.has(id),
        storageId: id,
        voter: i <= voters,
      });
    }
    for (const id of options.get('pinned')?.split(',') ?? []) this.#canLead.set(id, false);
    for (const id of options.get('free')?.split(',') ?? []) this.#canLead.set(id, true);
    const all = [...this.#members.values()];
    this.#first = {
      voters: all.slice(0, voters),
      votersOutgoing: [],
      learners: all.slice(voters, voters + learners),
      learnersNext: [],
      autoLeave: false,
    };
    const numbers = { ...defaultRaftLimits, electionTicksMin: 10, electionTicksMax: 20 };
    for (const name of Object.keys(numbers)) {
      const value = options.get(name);
      if (value !== undefined) Object.assign(numbers, { [name]: Number(value) });
    }
    this.#limits = {
      ...numbers,
      heartbeatTicks: Number(options.get('heartbeatTicks') ?? 2),
      preVote: options.get('pre-vote') !== 'off',
      checkQuorum: options.get('check-quorum') !== 'off',
    };
    for (const id of this.#members.keys()) {
      const seat = { id, log: new StoredLog(), node: undefined, writes: [], applies: [] };
      this.#seats.set(id, { ...seat, admitted: !empty.has(id) });
      this.#start(id);
    }
  }

  /** @returns the trace of the commands, one a line */
  run(commands: string): string {
    this.#trace = [];
    const lines = commands.split('\n').filter((line) => line.trim() !== '');
    for (const line of lines) {
      if (lines.length > 1) this.#trace.push(`> ${line}`);
      const isQuiet = line.startsWith('quietly ');
      const before = this.#trace.length;
      this.#do(line.replace('quietly ', '').split(' '));
      if (isQuiet) this.#trace.length = before;
    }
    return this.#trace.join('\n');
  }

  #say(line: string): void {
    this.#trace.push(`  ${line}`);
  }

  #seat(id: string | undefined): Seat {
    const seat = this.#seats.get(id ?? '');
    assert.ok(seat, `there is no node ${id}`);
    return seat;
  }

  #node(id: string | undefined): RaftNode {
    const { node } = this.#seat(id);
    assert.ok(node, `node ${id} is down`);
    return node;
  }

  #start(id: PeerId): void {
    const seat = this.#seat(id);
    const meta = seat.log.snapshotMeta();
    const canLead = this.#canLead.get(id);
    seat.writes = [];
    seat.applies = [];
    seat.node = new RaftNode({
      self: id,
      limits: this.#limits,
      log: seat.log,
      hardState: seat.log.hardState,
      conf: meta?.conf ?? this.#first,
      confIndex: meta?.confIndex ?? 0,
      confEntries: seat.log.all().filter(({ kind }) => kind === 'conf'),
      applied: meta?.index ?? 0,
      admitted: seat.admitted,
      ...(canLead === undefined ? undefined : { canLead }),
      rand: () => 0,
    });
  }

  #do([command, ...words]: readonly string[]): void {
    const [id, second, third] = words;
    switch (command) {
      case 'stabilize':
        this.#stabilize(words.length > 0 ? words : [...this.#seats.keys()]);
        return;
      case 'deliver':
        this.#deliver(id, second, third);
        return;
      case 'drop':
        this.#network = this.#network.filter(({ from, to }) => from !== id || to !== second);
        return;
      case 'duplicate':
        this.#network.push(...this.#network.filter(({ from, to }) => from === id && to === second));
        return;
      case 'network':
        for (const message of this.#network) this.#say(messageText(message));
        return;
      case 'crash':
        this.#seat(id).node = undefined;
        return;
      case 'wipe':
        this.#seat(id).log.wipe();
        this.#seat(id).admitted = false;
        return;
      case 'restart':
        this.#start(this.#seat(id).id);
        this.#drain(this.#seat(id));
        return;
      case 'disk':
        this.#disk(this.#seat(id), Number(second ?? 1));
        return;
      case 'apply':
        this.#apply(this.#seat(id));
        return;
      default:
        this.#input(command ?? '', words);
    }
  }

  /** What goes into one core. */
  #input(command: string, [id, ...rest]: readonly string[]): void {
    const node = this.#node(id);
    switch (command) {
      case 'tick':
        for (let i = Number(rest[0] ?? 1); i > 0; i--) {
          node.tick();
          this.#drain(this.#seat(id));
        }
        break;
      case 'campaign':
        node.campaign();
        break;
      case 'propose':
        this.#propose(node, rest);
        break;
      case 'conf':
        this.#propose(node, rest, true);
        break;
      case 'read':
        for (const context of rest) node.readIndex(Number(context));
        break;
      case 'transfer':
        node.transferLeader(rest[0] ?? '');
        break;
      case 'begin':
        node.begin();
        break;
      case 'forget':
        node.forgetLeader();
        break;
      case 'unreachable':
        node.reportUnreachable(rest[0] ?? '');
        break;
      case 'snapshot-report':
        node.reportSnapshot(rest[0] ?? '', rest[1] === 'ok');
        break;
      case 'compact':
        this.#compact(this.#seat(id), Number(rest[0]));
        break;
      case 'admit':
        this.#seat(id).admitted = true;
        node.admit();
        break;
      case 'log-failed':
        node.setLogFailed(rest[0] === 'on');
        break;
      case 'status':
        this.#status(node);
        break;
      case 'configuration':
        this.#say(`${node.status().confIndex}: ${confText(node.conf)}`);
        break;
      case 'log':
        this.#log(this.#seat(id));
        break;
      default:
        throw new Error(`no command ${command}`);
    }
    this.#drain(this.#seat(id));
  }

  #propose(node: RaftNode, words: readonly string[], isConf = false): void {
    const answer = isConf
      ? node.proposeConf(this.#change(words))
      : node.propose(words.map((word) => new TextEncoder().encode(word)));
    if (typeof answer === 'string') {
      if (answer !== 'ok') this.#say(`refused: ${answer}`);
    } else if ('refused' in answer) this.#say(`refused: ${answer.refused}`);
  }

  /** `+4` a voter, `~4` a learner, `-4` gone, `4*` on another disk; several or `joint` first: a joint change; `leave`. */
  #change(words: readonly string[]): ConfChange {
    if (words[0] === 'leave') return { kind: 'leave' };
    const steps = words
      .filter((word) => word !== 'joint')
      .map((word): ConfStep => {
        const id = word.slice(1).replace('*', '');
        if (word.startsWith('-')) return { op: 'remove', id };
        const known = this.#members.get(id);
        assert.ok(known, `nobody is called ${id}`);
        const member = word.endsWith('*') ? { ...known, storageId: `${id}-new` } : known;
        return { op: word.startsWith('+') ? 'voter' : 'learner', member };
      });
    return { kind: words[0] === 'joint' ? 'joint' : 'simple', steps };
  }

  #compact(seat: Seat, index: number): void {
    const meta = this.#node(seat.id).compact(index);
    if (typeof meta === 'string') this.#say(`refused: ${meta}`);
    else seat.log.compactTo(meta);
  }

  #status(node: RaftNode): void {
    const status = node.status();
    const { role, term, vote, leader, commit, applied, durableIndex, lastIndex } = status;
    const place = `commit=${commit} applied=${applied} durable=${durableIndex} last=${lastIndex}`;
    this.#say(
      `${role} term=${term} vote=${vote ?? '-'} leader=${leader ?? '-'} ${place}${status.isLeaderReady ? ' ready' : ''}`,
    );
    this.#say(confText(status.conf));
    for (const { id, match, next, state, isActive } of status.progress)
      this.#say(
        `progress ${id}: ${state} match=${match} next=${next}${isActive ? '' : ' inactive'}`,
      );
  }

  #log(seat: Seat): void {
    this.#say(
      `first=${seat.log.firstIndex()} ${seat.log.all().map(entryText).join(' ') || 'empty'}`,
    );
  }

  /** `deliver 1 2 [n]`: what waits on that link, or its first n. */
  #deliver(from?: string, to?: string, max?: string): void {
    let left = Number(max ?? Number.POSITIVE_INFINITY);
    const due = this.#network.filter(
      (message) =>
        (from === undefined || message.from === from) &&
        (to === undefined || message.to === to) &&
        left-- > 0,
    );
    this.#network = this.#network.filter((message) => !due.includes(message));
    for (const message of due) this.#step(message);
  }

  #step(message: Message): void {
    const seat = this.#seat(message.to);
    if (seat.node === undefined) return;
    seat.node.step(message);
    this.#drain(seat);
  }

  #disk(seat: Seat, count: number): void {
    for (const job of seat.writes.splice(0, count)) {
      seat.log.write(job);
      this.#afterwards(seat, job.afterwards);
    }
  }

  #apply(seat: Seat): void {
    for (const { afterwards } of seat.applies.splice(0)) this.#afterwards(seat, afterwards);
  }

  #afterwards(seat: Seat, messages: readonly Message[]): void {
    for (const message of messages) {
      if (message.to === seat.id) seat.node?.step(message);
      else this.#put(message);
    }
    this.#drain(seat);
  }

  #put(message: Message): void {
    this.#say(messageText(message));
    this.#network.push(message);
  }

  #stabilize(ids: readonly string[]): void {
    for (let round = 0; round < roundsMax; round++) {
      const seats = ids.map((id) => this.#seat(id));
      const isBusy = seats.some(({ writes, applies }) => writes.length + applies.length > 0);
      const due = this.#network.filter(({ from, to }) => ids.includes(from) && ids.includes(to));
      if (!isBusy && due.length === 0) return;
      for (const seat of seats) {
        this.#disk(seat, seat.writes.length);
        this.#apply(seat);
      }
      this.#network = this.#network.filter((message) => !due.includes(message));
      for (const message of due) this.#step(message);
    }
    throw new Error('it does not come to rest');
  }

  #drain(seat: Seat): void {
    const { node } = seat;
    while (node?.hasReady()) {
      const { send, append, apply, readStates, soft } = node.ready();
      if (soft !== undefined)
        this.#say(
          `${seat.id} is ${soft.role} of term ${node.term}, leader ${soft.leader ?? 'unknown'}`,
        );
      for (const message of send) this.#put(message);
      if (append !== undefined) {
        seat.writes.push(append);
        this.#say(jobText(seat.id, append));
      }
      if (apply !== undefined) {
        seat.applies.push(apply);
        this.#say(`${seat.id} applies ${apply.entries.map(entryText).join(' ')}`);
      }
      for (const { context, index } of readStates)
        this.#say(`${seat.id} may read ${context} at ${index}`);
    }
  }
}

function pairsOf(text: string | undefined): ReadonlyMap<string, string> {
  const pairs = text?.split(',').map((pair) => pair.split(':') as [string, string]) ?? [];
  return new Map(pairs);
}
