import { hostname } from 'node:os';
import { startHealthServer } from './act/health-server.ts';
import { Operator } from './act/operator.ts';
import { noteCall, reportProcess } from './act/process-metrics.ts';
import { findCredentials } from './kubernetes/credentials.ts';
import { fence } from './kubernetes/fence.ts';
import { HttpTransport } from './kubernetes/http-transport.ts';
import { Lease } from './kubernetes/lease.ts';
import { Metrics } from './kubernetes/metrics.ts';
import type { CallRecord } from './kubernetes/port.ts';
import { RestClient } from './kubernetes/rest-client.ts';
import { lineLog, systemRuntime } from './kubernetes/system-runtime.ts';
import { DatabaseClient } from './observe/database-client.ts';
import type { MemberTransport } from './observe/database-client.ts';
import { fencedMembers } from './observe/member-fence.ts';
import { MemberHttp } from './observe/member-http.ts';
import { readSettings } from './operator-settings.ts';
import type { OperatorSettings } from './operator-settings.ts';

// The floor plan of the operator process: lease → watches → workers. The only place where implementations are chosen.

const limitsMs = { stop: 20_000, stuckWatch: 120_000, stuckEventLoop: 5000 } as const;
/** Raised when the pods of an unchanged spec are rendered differently; shown in the status only. */
const renderVersion = '2';

export interface ProcessInputs {
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly write: (line: string) => void;
  /** Called once with what to do when the process is asked to stop. */
  readonly onStopSignal: (stop: () => void) => void;
}

/** Runs until it is asked to stop, or loses its lease. @returns the exit code */
export async function runOperator(inputs: ProcessInputs): Promise<number> {
  const settings = readSettings(inputs.flags, inputs.environment);
  const log = lineLog(settings.logLevel, inputs.write);
  const credentials = await findCredentials(inputs.environment);
  const transport = new HttpTransport(credentials);
  const metrics = new Metrics();
  const afterCall = (call: CallRecord, code: number, isPassing: boolean) =>
    noteCall(metrics, call, code, isPassing);
  const instance = `${hostname()}_${systemRuntime.random.uuid().slice(0, 8)}`;
  const namespace = settings.namespace === '' ? credentials.namespace : settings.namespace;
  const lease = new Lease({
    api: new RestClient({ transport, afterCall }),
    runtime: systemRuntime,
    log,
    namespace,
    name: settings.leaseName,
    identity: instance,
  });
  const isLeader = () => !settings.leaderElection || lease.isHeld();
  const api = new RestClient({ transport, afterCall, beforeCall: fence(isLeader) });
  const members = fencedMembers(new MemberHttp(systemRuntime.timers), isLeader);
  const operator = makeOperator(settings, { api, members, log, metrics, instance, namespace });
  reportProcess(metrics, systemRuntime.clock.now());
  metrics.onScrape(() => {
    const name = { name: settings.leaseName };
    metrics.set('leader_election_master_status', 'Whether it acts', name, isLeader() ? 1 : 0);
  });
  const server = await startHealthServer({
    host: settings.host,
    port: settings.port,
    runtime: systemRuntime,
    metrics,
    isReady: () => operator.isSynced,
    isAlive: (lagMs) => lagMs < limitsMs.stuckEventLoop,
    failingForMs: () => operator.failingForMs(),
    failingMsMax: limitsMs.stuckWatch,
  });
  const stopped = new Promise<'stopped'>((resolve) =>
    inputs.onStopSignal(() => resolve('stopped')),
  );
  log.info({ instance, namespaces: settings.watchNamespaces }, 'operator started');
  operator.startWatching();
  const outcome = await Promise.race([
    stopped,
    settings.leaderElection ? lead(lease, operator) : actAlone(operator, stopped),
  ]);
  log.info({ outcome }, 'operator ends');
  if (outcome === 'lost') return 1;
  await Promise.race([operator.stop(), systemRuntime.timers.sleep(limitsMs.stop)]);
  await lease.release();
  transport.close();
  server.close();
  return 0;
}

function makeOperator(
  settings: OperatorSettings,
  {
    namespace,
    members,
    ...parts
  }: Pick<ConstructorParameters<typeof Operator>[0], 'api' | 'log' | 'metrics' | 'instance'> & {
    readonly namespace: string;
    readonly members: MemberTransport;
  },
): Operator {
  return new Operator({
    ...parts,
    databases: new DatabaseClient(members, systemRuntime),
    facts: {
      namespace,
      identity: `${namespace}/${settings.leaseName}`,
      defaultServerImage: settings.defaultServerImage,
      renderVersion,
    },
    runtime: systemRuntime,
    namespaces: settings.watchNamespaces,
    clusterSelector: settings.clusterSelector,
    concurrency: settings.concurrency,
    pollMs: settings.pollSeconds * 1000,
    resyncMs: settings.resyncSeconds * 1000,
  });
}

async function lead(lease: Lease, operator: Operator): Promise<'lost' | 'stopped'> {
  await lease.acquire();
  // Renewed while the caches fill: a large cluster takes longer than the lease lasts.
  const kept = lease.keep();
  await whenSynced(operator);
  operator.activate();
  return (await kept) ? 'lost' : 'stopped';
}

async function actAlone<T>(operator: Operator, stopped: Promise<T>): Promise<T> {
  await whenSynced(operator);
  operator.activate();
  return stopped;
}

async function whenSynced(operator: Operator): Promise<void> {
  while (!operator.isSynced) await systemRuntime.timers.sleep(20);
}
