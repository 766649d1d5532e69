/** The numbered rules of ha.md 2, and where each is tested: a script that carries its number, or a test by file and title. */
export interface Rule {
  readonly number: string;
  readonly says: string;
  readonly test?: { readonly file: string; readonly title: string };
}

const properties = 'test/raft/properties.test.ts';
const targets = 'test/cluster/consensus/lead-targets.test.ts';
const desk = 'test/cluster/consensus/membership-desk.test.ts';

export const rules: readonly Rule[] = [
  { number: '2.3.1', says: 'jobs are done in order, and tell of it when they are durable' },
  { number: '2.3.2', says: 'entries, terms and votes are flushed' },
  { number: '2.3.3', says: 'answers wait for the disk' },
  { number: '2.3.4', says: 'the leader sends before its disk has it' },
  {
    number: '2.3.5',
    says: 'an acknowledgement of an earlier term says nothing',
    test: {
      file: properties,
      title: 'an acknowledgement of an earlier term makes nothing durable',
    },
  },
  { number: '2.3.6', says: 'only committed and durable entries are applied' },
  {
    number: '2.3.7',
    says: 'outputs are a function of state and inputs',
    test: { file: 'test/raft/simulation.test.ts', title: 'equal seeds give equal runs' },
  },
  { number: '2.4', says: 'learners and members that may not lead never campaign' },
  { number: '2.5.1', says: 'a timeout asks for pre-votes first' },
  { number: '2.5.2', says: 'the own vote waits for the disk' },
  { number: '2.5.3', says: 'who hears a leader is not disturbed' },
  { number: '2.5.4', says: 'a vote goes to one candidate that is up to date' },
  { number: '2.5.5', says: 'terms of answers to pre-votes' },
  { number: '2.5.6', says: 'what comes from an earlier term' },
  { number: '2.5.7', says: 'a candidate follows the leader of its term' },
  { number: '2.5.8', says: 'a lost vote' },
  { number: '2.5.9', says: 'a leader is ready when its no-op is applied' },
  { number: '2.5.10', says: 'an empty log has no weight' },
  { number: '2.5.11', says: 'a leader whose process is gone is forgotten' },
  { number: '2.6.1', says: 'what a follower takes and acknowledges' },
  { number: '2.6.2', says: 'one probe for a term' },
  { number: '2.6.3', says: 'a stale refusal moves nothing' },
  { number: '2.6.4', says: 'a heartbeat commits no more than is matched' },
  { number: '2.6.5', says: "a heartbeat's answer wakes a follower" },
  { number: '2.6.6', says: 'what follows an accepted append' },
  { number: '2.6.7', says: 'learners get the same' },
  { number: '2.7', says: 'the commit rule' },
  { number: '2.8.1', says: 'early reads wait for the no-op' },
  { number: '2.8.2', says: 'one round confirms all reads before it' },
  { number: '2.8.3', says: 'a follower asks its leader' },
  { number: '2.8.4', says: 'the reader waits until the index is applied' },
  { number: '2.8.5', says: 'reads end with the role' },
  { number: '2.8.6', says: 'a single voter answers at once' },
  { number: '2.8.7', says: 'reads of one turn are one broadcast' },
  { number: '2.10.1', says: 'to whom the lead may go' },
  { number: '2.10.2', says: 'no proposals during a transfer' },
  { number: '2.10.3', says: 'the target catches up first' },
  { number: '2.10.4', says: 'the target needs no pre-vote and minds no lease' },
  { number: '2.10.5', says: 'a transfer is given up' },
  {
    number: '2.10.6',
    says: 'without a name the best voter gets the lead',
    test: { file: targets, title: 'the lead goes to the best of those that are there' },
  },
  { number: '2.11.1', says: 'a vote knows no priority' },
  { number: '2.11.2', says: 'the preferred campaign first' },
  {
    number: '2.11.3',
    says: 'a leader yields to a higher priority',
    test: { file: targets, title: 'a leader yields to a higher priority that has long been there' },
  },
  {
    number: '2.11.4',
    says: 'a server pinned as replica never leads',
    test: { file: targets, title: 'who is pinned as a replica gets no lead' },
  },
  { number: '2.12.1', says: 'a change counts when it is committed' },
  { number: '2.12.2', says: 'joint changes end by themselves' },
  { number: '2.12.3', says: 'changes that are refused' },
  {
    number: '2.12.4',
    says: 'who is added learns first',
    test: { file: desk, title: 'who is added learns first and is promoted when it has caught up' },
  },
  { number: '2.12.5', says: 'a leader that is removed' },
  { number: '2.12.6', says: 'another disk of the same name' },
  {
    number: '2.12.7',
    says: 'a removal that would cost the quorum is refused',
    test: { file: desk, title: 'a removal that would cost the quorum is refused' },
  },
  {
    number: '2.12.8',
    says: 'changes are made for the configuration they were computed from',
    test: {
      file: desk,
      title: 'a change for another configuration is refused; what is done is done',
    },
  },
  { number: '2.12.9', says: 'no change before the own no-op' },
  {
    number: '2.12.10',
    says: 'of two members none goes while the other is down',
    test: { file: desk, title: 'a removal that would cost the quorum is refused' },
  },
  { number: '2.13', says: 'a snapshot carries the configuration of its index' },
];
