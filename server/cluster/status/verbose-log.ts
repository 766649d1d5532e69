import { haLogVerbose } from '#config/cluster-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { Log, LogFields } from '#core/log.ts';
import type { ConsensusPort } from '../consensus-port.ts';

/** 1: elections, membership, leadership; 2: what is sent on to other servers; 3: every entry that is applied, never its values. */
export type VerboseLevel = 1 | 2 | 3;

export type Trace = (level: VerboseLevel, text: string, fields?: LogFields) => void;

/** What the log of the server has besides, by `service.ha.logVerbose` (ha.md 15); the setting holds at once. */
export function verboseLog(settings: SettingsReader, log: Pick<Log, 'info'>): Trace {
  return (level, text, fields = {}) => {
    if (settings.get(haLogVerbose) >= level) log.info(text, fields);
  };
}

/** Level 1: each change of role, term, leader and members. @returns the way to stop */
export function traceLeadership(
  consensus: Pick<ConsensusPort, 'status' | 'onStatus'>,
  trace: Trace,
): () => void {
  let told = '';
  const tell = () => {
    const { role, term, leader, configuration, configurationIndex } = consensus.status();
    const fields = {
      role,
      term,
      leader: leader ?? 'none',
      voters: configuration.voters.map(({ id }) => id).join(' '),
      learners: configuration.learners.map(({ id }) => id).join(' '),
      configurationIndex,
    };
    const text = JSON.stringify(fields);
    if (text === told) return;
    told = text;
    trace(1, 'cluster', fields);
  };
  tell();
  return consensus.onStatus(tell);
}
