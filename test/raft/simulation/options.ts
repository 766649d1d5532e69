import { defaultRaftLimits, type RaftLimits } from '#raft/options.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { seeded } from '../support/random.ts';

/** Chances in 10,000: per message, or per tick of the whole group. 0: this run goes without (ha-testing.md 3.3). */
export interface Faults {
  readonly drop: number;
  readonly duplicate: number;
  /** Messages of long ago come again. */
  readonly replay: number;
  readonly crash: number;
  readonly crashAll: number;
  readonly pause: number;
  readonly isolate: number;
  readonly oneWay: number;
  readonly cutPair: number;
  readonly flap: number;
  readonly diskFull: number;
  readonly slowDisk: number;
  readonly transfer: number;
  readonly membership: number;
  readonly compact: number;
  readonly forget: number;
  readonly unreachable: number;
}

/** All that a seed says, printed with its failure. */
export interface SimulationOptions {
  readonly seed: number;
  readonly voters: number;
  /** Those that may not lead: in every majority there is another one. */
  readonly pinned: readonly PeerId[];
  readonly spares: number;
  readonly clients: number;
  readonly keys: number;
  readonly readPercent: number;
  readonly delayTicksMax: number;
  readonly safetyTicks: number;
  readonly cacheBytes: number;
  readonly purgeGap: number;
  readonly limits: RaftLimits;
  readonly faults: Faults;
}

const most: Faults = {
  drop: 1500,
  duplicate: 800,
  replay: 60,
  crash: 80,
  crashAll: 8,
  pause: 80,
  isolate: 80,
  oneWay: 80,
  cutPair: 80,
  flap: 40,
  diskFull: 30,
  slowDisk: 60,
  transfer: 60,
  membership: 80,
  compact: 1500,
  forget: 60,
  unreachable: 100,
};

export const noFaults = Object.fromEntries(
  Object.keys(most).map((name) => [name, 0]),
) as unknown as Faults;

/** Each class of faults is off with probability one half, else its rate is drawn log-uniformly. */
export function optionsOf(seed: number): SimulationOptions {
  const random = seeded(seed);
  const any = <T>(...choices: readonly T[]): T => choices[random(choices.length)] as T;
  const rate = (max: number) =>
    random(2) === 0 ? 0 : Math.max(1, Math.round(max * 0.02 ** (random(1000) / 1000)));
  const electionTicksMin = 8 + random(16);
  const windowMessagesMax = any(1, 3, 64);
  const drawn = {
    seed,
    voters: any(1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5, 7),
    spares: any(0, 1, 2),
    // More would never be served where one message is on its way at a time.
    clients: 2 + random(windowMessagesMax === 1 ? 2 : 8),
    keys: 1 + random(6),
    readPercent: any(5, 30, 60),
    delayTicksMax: any(1, 3, 6),
    safetyTicks: 500 + random(800),
    cacheBytes: any(0, 300, 65_536),
    purgeGap: any(0, 4, 100),
    limits: {
      ...defaultRaftLimits,
      electionTicksMin,
      electionTicksMax: electionTicksMin + 2 + random(20),
      heartbeatTicks: 1 + random(2),
      forgottenTicksMax: 3,
      messageBytesMax: any(1, 120, 10_000),
      messageEntriesMax: any(1, 5, 64),
      windowMessagesMax,
      windowBytesMax: any(200, 65_536),
      applyBytesMax: any(1, 400, 65_536),
    },
    faults: Object.fromEntries(
      Object.entries(most).map(([name, max]) => [name, rate(max)]),
    ) as unknown as Faults,
  };
  return { ...drawn, pinned: pinnedOf(drawn) };
}

/** From a source of its own: it changes nothing else of a seed. A removal may leave few others, so it is one then. */
function pinnedOf({ seed, voters, faults }: Pick<SimulationOptions, 'seed' | 'voters' | 'faults'>) {
  if (voters < 3 || seeded(seed + 1_000_003)(3) > 0) return [];
  return voters >= 5 && faults.membership === 0 ? ['2', '4'] : ['2'];
}
