import type { ContainerStatus, Pod } from '../../../operator/api/kubernetes-object.ts';
import type { MemberAddress, MemberTransport } from '../../../operator/observe/database-client.ts';
import { hasGuard } from '../../../operator/resources/pod-state.ts';
import { settingOf } from '../../../operator/resources/setting-variable.ts';
import type { ServerContainer } from '../../../operator/resources/setting-variable.ts';
import { BackupCourse, SimulatedArchives } from './simulated-archives.ts';
import type { SimulatedArchive } from './simulated-archives.ts';
import { SimulatedGroup } from './simulated-group.ts';
import type { SimulatedApi, StoredObject } from './simulated-api.ts';

/*
 * Members as the operator sees them: probes, login, settings, users; and their volumes, which outlive the pods. The password of
 * a volume is set at its first start and changed over HTTP only, as in the real server.
 */

interface Volume {
  clusterId: string;
  password: string;
  /** Its first start makes the group. */
  forms: boolean;
  /** Its first start makes it one of those that form the group together. */
  founds?: boolean;
  /** The word by which its next start goes on alone. */
  survives?: string | undefined;
  readonly archives: SimulatedArchives;
}

interface Running {
  /** Its name in the group; undefined without replication. */
  readonly peerId: string | undefined;
  readonly volume: Volume;
  readonly settings: Map<string, string>;
  readonly tokens: Map<string, string>;
  backup: unknown;
  mcp: Record<string, unknown>;
}

const standardSettings: Readonly<Record<string, string>> = {
  'service.server.httpCorsAllowedOrigins': '',
  'service.server.httpQueryDefaultLimit': '20000',
  'service.server.maxSnapshotAge': '600',
};

type MemberRequest = Parameters<MemberTransport['send']>[1];
type MemberAnswer = Awaited<ReturnType<MemberTransport['send']>>;

export class SimulatedMembers implements MemberTransport {
  readonly #api: SimulatedApi;
  /** By uid of the claim: a new claim is an empty disk. */
  readonly #volumes = new Map<string, Volume>();
  readonly #running = new Map<string, Running>();
  readonly calls: string[] = [];
  readonly #groups = new Map<string, SimulatedGroup>();
  hasBackups = true;
  hasTools = true;
  /** Answers in place of the member. */
  refuse: ((request: MemberRequest) => MemberAnswer | undefined) | undefined;
  /** After a request of this kind the caller dies: it took effect, and nobody hears the answer. */
  killsCaller: ((request: MemberRequest) => boolean) | undefined;
  /** Pods that run and are asked in vain. */
  readonly silent = new Set<string>();
  /** Values of settings that are answered 400. */
  readonly refusedValues = new Set<string>();
  /** Databases that were backed up, in order. */
  readonly backedUp: string[] = [];
  /** Archives of every database, and what its log of events holds. */
  readonly archives: { readonly lastModified: number }[] = [];
  readonly events: object[] = [];
  /** Databases that were compared, in order, and what that comes to. */
  readonly verified: string[] = [];
  comparison = 'ALL_CONSISTENT';
  databaseBytes = 1000;
  /** Every member has them. */
  databases: readonly string[] = ['orders'];
  readonly course: BackupCourse;
  /** Databases that were asked to be restored, in order. */
  readonly restored: string[] = [];
  #tokens = 0;

  constructor(api: SimulatedApi, now: () => number) {
    this.#api = api;
    this.course = new BackupCourse(now);
  }

  /** Archives that a command made, of all volumes. */
  madeArchives(): readonly SimulatedArchive[] {
    return [...this.#volumes.values()].flatMap(({ archives }) => archives.all());
  }

  /** Archives on a volume. */
  archivesOf(claim: StoredObject | undefined): SimulatedArchives | undefined {
    return this.#volumes.get(claim?.metadata.uid ?? '')?.archives;
  }

  /** The group of the Cluster that the tests are about. */
  get group(): SimulatedGroup {
    return this.groupOf('orders-0.');
  }

  groupOf(peerId: string): SimulatedGroup {
    const cluster = /^(.*?)-\d+\./.exec(peerId)?.[1] ?? '';
    const group = this.#groups.get(cluster) ?? new SimulatedGroup();
    this.#groups.set(cluster, group);
    return group;
  }

  /** What the init container says about the volume, from the record that the operator wrote. */
  guard(pod: StoredObject, claim: StoredObject | undefined): ContainerStatus {
    const ended = (exitCode: number, message: string): ContainerStatus => ({
      name: 'guard',
      state: { terminated: { exitCode, message } },
    });
    const clusterName = pod.metadata.name.replace(/-\d+$/, '');
    const text = this.#api.find('ConfigMap', `${clusterName}-members`, pod.metadata.namespace)
      ?.data?.['members.json'];
    const record = JSON.parse(text ?? '{}') as {
      clusterId: string;
      initialised: boolean;
      replicated?: boolean;
      formation?: string;
      recovery?: { token: string; survivor: number; step: string };
      members?: Record<string, { state: string }>;
    };
    const uid = claim?.metadata.uid ?? '';
    const volume = this.#volumes.get(uid);
    const ordinal = /\d+$/.exec(pod.metadata.name)?.[0] ?? '';
    const isReplicated = record.replicated === true;
    const { recovery } = record;
    if (recovery !== undefined && (recovery.step === 'stop' || `${recovery.survivor}` !== ordinal))
      return ended(1, 'QuorumRecovery: it waits');
    if (recovery !== undefined && volume === undefined) return ended(1, 'QuorumRecovery: no data');
    if (volume !== undefined) volume.survives = recovery?.token;
    if (!hasGuard(pod as Pod)) {
      // Of the chart: its volume is what it is.
      if (volume === undefined) {
        const password = this.#secret(pod, clusterName);
        const archives = new SimulatedArchives(this.course);
        this.#volumes.set(uid, { clusterId: '', password, forms: ordinal === '0', archives });
      }
      return ended(0, 'no guard');
    }
    const isTogether = record.formation === 'static' && !record.initialised;
    if (
      volume === undefined &&
      isReplicated &&
      !record.initialised &&
      ordinal !== '0' &&
      !isTogether
    )
      return ended(1, 'the group is not formed yet');
    const others = Object.entries(record.members ?? {}).filter(
      ([other, { state }]) => other !== ordinal && state === 'member',
    );
    const isOnly = !isReplicated || others.length === 0;
    if (volume === undefined && isOnly && record.members?.[ordinal]?.state === 'member')
      return ended(1, `VolumeLost: the volume of ${pod.metadata.name} is empty`);
    if (volume === undefined) {
      const password = this.#secret(pod, clusterName);
      const forms =
        (!record.initialised && ordinal === '0') ||
        (isOnly && record.members?.[ordinal]?.state === 'replace');
      const archives = new SimulatedArchives(this.course);
      const { clusterId } = record;
      const founds = isTogether && ordinal !== '0';
      this.#volumes.set(uid, { clusterId, password, forms, founds, archives });
    } else if (record.members?.[ordinal]?.state === 'adopt') volume.clusterId = record.clusterId;
    else if (volume.clusterId !== record.clusterId)
      return ended(1, `ForeignVolume: the volume of ${pod.metadata.name} is another's`);
    return ended(0, 'ok');
  }

  start(pod: StoredObject, isCrashing: boolean): ContainerStatus {
    const claimName = `data-${pod.metadata.name}`;
    const claim = this.#api.find('PersistentVolumeClaim', claimName, pod.metadata.namespace);
    if (this.guard(pod, claim).state?.terminated?.exitCode !== 0)
      return { name: 'server', restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } };
    if (isCrashing)
      return {
        name: 'server',
        restartCount: 1,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, message: 'cannot start' } },
      };
    const address = (pod.status as { podIP?: string }).podIP ?? '';
    const uid = claim?.metadata.uid ?? '';
    const volume = this.#volumes.get(uid);
    if (volume !== undefined && !this.#running.has(address)) {
      const settings = new Map(Object.entries(standardSettings));
      const peerId = peerIdOf(pod);
      if (peerId !== undefined) this.groupOf(peerId).start(peerId, uid, volume.forms);
      // By itself, as members of the chart do.
      const isByItself = !hasGuard(pod as Pod) || volume.founds === true;
      volume.founds = false;
      if (peerId !== undefined && isByItself) this.groupOf(peerId).takeIn(peerId, uid);
      volume.forms = false;
      if (peerId !== undefined && volume.survives !== undefined)
        this.groupOf(peerId).surviveAlone(peerId, uid, volume.survives);
      this.#running.set(address, {
        peerId,
        volume,
        settings,
        tokens: new Map(),
        backup: undefined,
        mcp: { enabled: false, databases: {} },
      });
    }
    return { name: 'server', restartCount: 0, state: { running: {} } };
  }

  /** Whether the running server of a pod takes requests. */
  isServing(pod: StoredObject): boolean {
    const peerId = peerIdOf(pod);
    return peerId === undefined || this.groupOf(peerId).isReady(peerId);
  }

  /** @param files what its container can read of the record by now; undefined: it cannot */
  preStop(pod: StoredObject, files: string | undefined): void {
    const peerId = peerIdOf(pod);
    const { hibernating } = JSON.parse(files ?? '{}') as { hibernating?: boolean };
    if (peerId !== undefined && hibernating !== true) this.groupOf(peerId).handOver(peerId);
  }

  stop(pod: StoredObject): void {
    const peerId = peerIdOf(pod);
    if (peerId !== undefined) this.groupOf(peerId).stop(peerId);
    this.#running.delete((pod.status as { podIP?: string } | undefined)?.podIP ?? '');
  }

  /** Settings of the only member that runs. */
  settings(): ReadonlyMap<string, string> | undefined {
    return [...this.#running.values()][0]?.settings;
  }

  backup(): unknown {
    return [...this.#running.values()][0]?.backup;
  }

  mcp(): Readonly<Record<string, unknown>> | undefined {
    return [...this.#running.values()][0]?.mcp;
  }

  /** What all that run have been told of backups and of the tool server. */
  told(): readonly { readonly backup: unknown; readonly mcp: unknown }[] {
    return [...this.#running.values()].map(({ backup, mcp }) => ({ backup, mcp }));
  }

  passwords(): string[] {
    return [...this.#volumes.values()].map(({ password }) => password);
  }

  #secret(pod: StoredObject, clusterName: string): string {
    const volumes = (pod.spec?.['volumes'] ?? []) as readonly {
      name: string;
      secret?: { secretName: string; items: readonly { key: string }[] };
    }[];
    const source = volumes.find(({ name }) => name === 'root-password')?.secret;
    const secret = this.#api.find(
      'Secret',
      source?.secretName ?? `${clusterName}-root`,
      pod.metadata.namespace,
    );
    const encoded = secret?.data?.[source?.items[0]?.key ?? ''] ?? '';
    return Buffer.from(encoded, 'base64').toString('utf8');
  }

  async send(address: MemberAddress, request: MemberRequest): Promise<MemberAnswer> {
    const said = await this.#serve(address, request);
    if (this.killsCaller?.(request) === true) throw new Error('the caller died');
    return said;
  }

  async #serve({ host }: MemberAddress, request: MemberRequest): Promise<MemberAnswer> {
    const member = this.#running.get(host);
    if (member === undefined) throw new Error('connection refused');
    const pod = member.peerId?.split('.')[0] ?? '';
    if (this.silent.has(pod)) throw new Error('no answer within 1000 ms');
    const refusal = this.refuse?.(request);
    if (refusal !== undefined) return refusal;
    const url = new URL(request.path, 'http://member');
    const { pathname } = url;
    this.calls.push(`${request.method} ${pathname}`);
    if (pathname === '/api/v1/ready') {
      const isServing =
        member.peerId === undefined || this.groupOf(member.peerId).isReady(member.peerId);
      return { status: isServing ? 204 : 503, body: '' };
    }
    if (pathname === '/api/v1/login') return this.#login(member, request.headers);
    const token = /^Bearer (.*)$/.exec(request.headers['Authorization'] ?? '')?.[1] ?? '';
    if (member.tokens.get(token) !== member.volume.password) return { status: 401, body: '{}' };
    if (pathname.startsWith('/api/v1/cluster/verify/')) {
      this.verified.push(pathname.slice('/api/v1/cluster/verify/'.length));
      return answer({ overallStatus: this.comparison });
    }
    if (pathname.startsWith('/api/v1/query/')) return answer([{ size: this.databaseBytes }]);
    if (pathname.startsWith('/api/v1/cluster')) return this.#group(member, request, url);
    if (pathname === '/api/v1/server/users') {
      const { password } = JSON.parse(request.body ?? '') as { password: string };
      member.volume.password = password;
      // Users are replicated.
      if (member.peerId !== undefined)
        for (const other of this.#running.values()) other.volume.password = password;
      return { status: 200, body: '{}' };
    }
    if (pathname === '/api/v1/mcp/config') {
      if (!this.hasTools) return { status: 404, body: '{}' };
      return configured(member, JSON.parse(request.body ?? '{}') as Record<string, unknown>);
    }
    return request.method === 'GET'
      ? { status: 200, body: JSON.stringify(infoOf(member)) }
      : this.#command(member, request.body ?? '');
  }

  /** A database appears when it is whole; of an archive only where that lies. */
  async #restore(
    member: Running,
    { command, mayOverwrite }: { readonly command: string; readonly mayOverwrite: boolean },
    [, first = '', second = '']: readonly string[],
  ) {
    const isUrl = command.startsWith('restore database ');
    const name = isUrl ? first : second;
    this.restored.push(name);
    const refused = (status: number, error: string) => ({
      status,
      body: JSON.stringify({ error }),
    });
    if (!isUrl && !member.volume.archives.all().some(({ fileName }) => fileName === first))
      return refused(404, `there is no archive ${first}`);
    const isThere = () => this.databases.includes(name);
    if (isThere() && !mayOverwrite) return refused(400, `Database '${name}' already exists`);
    await this.course.end();
    if (isThere() && !mayOverwrite) return refused(400, `Database '${name}' already exists`);
    if (!isThere()) this.databases = [...this.databases, name];
    if (this.course.answersToLose > 0) {
      this.course.answersToLose--;
      throw new Error('the connection broke');
    }
    return ok();
  }

  #group(member: Running, { method, body }: { method: string; body?: string }, url: URL) {
    if (member.peerId === undefined)
      return { status: 400, body: '{"error":"Raft HA is not enabled"}' };
    const group = this.groupOf(member.peerId);
    if (method === 'GET') return group.view(member.peerId);
    return group.manage(
      member.peerId,
      method,
      url,
      JSON.parse(body ?? '{}') as Record<string, unknown>,
    );
  }

  #login(member: Running, headers: Readonly<Record<string, string>>) {
    const basic = /^Basic (.*)$/.exec(headers['Authorization'] ?? '')?.[1] ?? '';
    const given = Buffer.from(basic, 'base64').toString('utf8');
    if (given !== `root:${member.volume.password}`) return { status: 403, body: '{}' };
    const token = `AU-${++this.#tokens}`;
    member.tokens.set(token, member.volume.password);
    return { status: 200, body: JSON.stringify({ token }) };
  }

  /** As the server reads it: the rest of the line, without quotes around it; none is refused. */
  #setSetting(member: Running, key: string, rest: string) {
    const text = rest.trim();
    const refused = (detail: string) => ({ status: 400, body: JSON.stringify({ detail }) });
    if (text === '') return refused(`the value of '${key}' is missing`);
    const quoted = /^"([^"]*)"$|^'([^']*)'$/.exec(text);
    const value = quoted === null ? text : (quoted[1] ?? quoted[2] ?? '');
    if (this.refusedValues.has(value)) return refused(`${key} must be a whole number`);
    member.settings.set(key, value);
    return ok();
  }

  #command(member: Running, body: string) {
    const { command, config, overwrite } = JSON.parse(body) as {
      command: string;
      config?: unknown;
      overwrite?: boolean;
    };
    const setting = /^set server setting (\S+)(.*)$/.exec(command);
    if (setting !== null) return this.#setSetting(member, setting[1] ?? '', setting[2] ?? '');
    if (command === 'list databases') return answer(this.databases);
    if (!this.hasBackups)
      return { status: 400, body: JSON.stringify({ error: 'Not supported', detail: command }) };
    const backup = /^trigger backup (\S+)$/.exec(command);
    const { archives } = member.volume;
    if (backup !== null) {
      this.backedUp.push(backup[1] ?? '');
      return archives.trigger(backup[1] ?? '');
    }
    const restore =
      /^restore backup \S+ (\S+) as (\S+)$/.exec(command) ??
      /^restore database (\S+) (\S+)$/.exec(command);
    if (restore !== null)
      return this.#restore(member, { command, mayOverwrite: overwrite === true }, restore);
    const deletion = /^delete backup (\S+) (\S+)$/.exec(command);
    if (deletion !== null) return archives.delete(deletion[1] ?? '', deletion[2] ?? '');
    if (command === 'set backup config') member.backup = config;
    const listed = /^list backups (\S+)$/.exec(command)?.[1];
    if (listed !== undefined) return answer([...archives.list(listed), ...this.archives]);
    if (command === 'get server events') return answer(this.events);
    if (command === 'get backup config')
      return {
        status: 200,
        body: JSON.stringify({ result: 'ok', config: member.backup ?? null }),
      };
    return ok();
  }
}

/** Entries of `databases` merge by name, null removes one; a field that is unknown is refused. */
function configured({ mcp }: Running, change: Readonly<Record<string, unknown>>) {
  if ('unknown' in change) return { status: 400, body: '{"error":"Unknown property"}' };
  for (const [name, value] of Object.entries(change))
    mcp[name] =
      name === 'databases'
        ? Object.fromEntries(
            Object.entries({ ...(mcp[name] as object), ...(value as object) }).filter(
              ([, entry]) => entry !== null,
            ),
          )
        : value;
  return { status: 200, body: JSON.stringify(mcp) };
}

function answer(result: unknown) {
  return { status: 200, body: JSON.stringify({ result }) };
}

function ok() {
  return { status: 200, body: '{"result":"ok"}' };
}

function infoOf({ settings }: Running) {
  const list = [...settings].map(([key, value]) => ({
    key,
    value,
    default: standardSettings[key] ?? '',
  }));
  return { version: '26.10.1', settings: list };
}

/** As the server makes it from its name, the suffix and the port; undefined without replication. */
function peerIdOf(pod: StoredObject): string | undefined {
  const { containers } = pod.spec as unknown as { readonly containers: readonly ServerContainer[] };
  const server = containers.find(({ name }) => name === 'server');
  const read = (key: string) => settingOf(server, key);
  if (read('service.ha.enabled') !== 'true') return undefined;
  return `${pod.metadata.name}${read('service.ha.k8sSuffix') ?? ''}_${read('service.ha.raftPort') ?? ''}`;
}
