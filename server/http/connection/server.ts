import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  serverHttpIncomingHost,
  serverHttpIncomingPort,
  serverHttpsIncomingPort,
  serverHttpUrlMaxSize,
} from '#config/server-settings.ts';
import { clusterFamilies } from '#control/cluster-families.ts';
import { DatabaseError } from '#core/errors.ts';
import { malformed, skipBody } from '../request/admission.ts';
import { authenticated } from '../request/authenticate.ts';
import { ConnectionGate, connectionOf } from './gate.ts';
import { answerPreflight, isPreflight } from '../request/cors.ts';
import type { Door, DoorDependencies } from '../door.ts';
import { answerByHand, tooMuchHeaders } from './client-error.ts';
import { DoorLimits } from './door-limits.ts';
import { notOnline, type Refusal } from '../answer/errors.ts';
import { Exchange } from '../answer/exchange.ts';
import { type FoundRoute, KnownPaths } from '../request/known-paths.ts';
import { listenOn, makeListener } from './listener.ts';
import { NameCache } from '../answer/json-writer.ts';
import { ReplayCache } from '../replay/cache.ts';
import { BodyDeadlines } from '../request/request-body.ts';
import { RequestIds } from '../request/request-ids.ts';
import { DenialReports } from '../request/denial-reports.ts';
import { RequestMeter, type RouteMeter } from '../request/request-meter.ts';
import { type Elsewhere, placeOf, sendOn } from '../cluster/sent-on.ts';
import { openApi } from '../document/openapi.ts';
import { leanRoutes } from '../lean-routes.ts';
import { resources } from '../resources.ts';
import { prometheus } from '../routes/prometheus.ts';
import type { MountedRoutes } from '../routes/mounted-routes.ts';
import { startPage } from '../routes/start-page.ts';
import { exchangeOf, setExchange } from './request-exchange.ts';
import { type ArrivedAt, resourcesPlugin } from './resources.ts';
import {
  meterNameOf,
  type PathOwner,
  type Route,
  type RouteDescription,
  urlOf,
} from '../routes/route.ts';
import { ColumnTemplates } from '../serializers/record.ts';
import { TruncationLog } from '../answer/truncation-log.ts';
import { type UpgradeHandler, Upgrades } from './upgrade.ts';

/** Between servers of a cluster: the one before has made the id up (`cluster/forwarding/forwarder.ts`). */
const madeUpIdHeader = 'x-service-forwarded-request-id';

const noCompiler = (): never => {
  throw new Error('schemas are those of `input-schema.ts`');
};
/** Whatever a body is called, the route decides how it is read; fastify would refuse names that it cannot read. */
const noContentType = { 'content-type': undefined };

/**
 * The HTTP door: fastify over node:http (house decision 32). Resources are fastify plugins (`resources.ts`); the hot routes of
 * `lean-routes.ts` live in scopes, one for each kind of access, with one hook. A handler never checks access again. Answers go
 * straight to node:http.
 */
export class HttpServer {
  readonly #door: Door;
  readonly #gate: ConnectionGate;
  readonly #app: FastifyInstance;
  readonly #requestIds: RequestIds;
  readonly #server: Server;
  readonly #secureServer: HttpsServer | undefined;
  readonly #upgrades: Upgrades;
  /** All, in the order in which they were mounted. */
  readonly #routes: RouteDescription[] = [];
  readonly #owners = new Map<string, PathOwner>();
  /** Of `mountUpgrade`. */
  readonly #upgradePaths: string[] = [];
  readonly #meters = new Map<RouteDescription, RouteMeter>();
  readonly #knownPaths = new KnownPaths();
  #securePort: number | undefined;

  /** @param mounted of doors that stand upon this one */
  constructor(dependencies: DoorDependencies, mounted?: MountedRoutes) {
    const { settings, runtime, log } = dependencies;
    this.#door = {
      ...dependencies,
      deadlines: new BodyDeadlines(runtime.clock, runtime.timers),
      limits: new DoorLimits(settings),
      replays: new ReplayCache(settings, runtime),
      truncations: new TruncationLog(log),
      denials: new DenialReports(dependencies.events, runtime.clock),
      names: new NameCache(),
      templates: new ColumnTemplates(),
      requests: new RequestMeter({
        connections: () => ({ open: this.#gate.connectionCount, busy: this.#gate.busyCount }),
        find: ({ request }) => this.#meterOf(request),
      }),
    };
    const { telemetry, cluster } = dependencies;
    telemetry?.add(() => this.#door.requests.families());
    if (cluster) {
      const counts = {
        conflicts: () => dependencies.databases.counters().concurrentModificationExceptions,
        repetitions: () => this.#door.replays.hits.entries(),
      };
      telemetry?.add(() => clusterFamilies(cluster, counts));
    }
    for (const owner of mounted?.owners ?? []) this.#owners.set(owner.path, owner);
    this.#requestIds = new RequestIds(runtime.clock.now());
    this.#upgrades = new Upgrades(this.#door, this.#requestIds);
    let route: (request: IncomingMessage, response: ServerResponse) => void = () => {};
    this.#gate = new ConnectionGate((request, response) => this.#begin(request, response, route), {
      settings,
      timers: runtime.timers,
      refuseHeaders: (connection) =>
        connection.endRequests(() => {
          const { socket } = connection;
          // The parser lets go of what it keeps with the socket only.
          socket.once('finish', () => socket.destroy());
          answerByHand(tooMuchHeaders, socket, this.#requestIds.next(), this.#bookmark());
        }),
    });
    const { plain, secure } = this.#makeListeners();
    this.#server = plain;
    this.#secureServer = secure;
    this.#app = fastify({
      logger: false,
      forceCloseConnections: true,
      return503OnClosing: false,
      routerOptions: {
        ignoreTrailingSlash: true,
        maxParamLength: settings.get(serverHttpUrlMaxSize),
        // Schemas and handlers read what they need of it.
        querystringParser: (text) => text as never,
        onBadUrl: (_path, request) => this.#refuseBadUrl(request as unknown as IncomingMessage),
      },
      exposeHeadRoutes: false,
      // The usual compilers would be 100 files of an idle server.
      schemaController: {
        compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
      },
      // Its own answer would come before that of a request whose body is cut off (`listener.ts`).
      clientErrorHandler: () => {},
      serverFactory: (handler) => {
        route = handler;
        return this.#server;
      },
    });
    this.#mount(mounted);
  }

  /** Gives requests for the WebSocket protocol on a path to a door above; to be called before `listen`. */
  mountUpgrade(path: string, handler: UpgradeHandler): void {
    this.#upgrades.add(path, handler);
    this.#upgradePaths.push(path);
    this.#mountScope('user', (scope) => {
      scope.get(path, (request, reply) => {
        reply.hijack();
        exchangeOf(request.raw)?.refuse(upgradeRequired);
      });
    });
  }

  /**
   * Listens on the first free port of `server.httpIncomingPort`, and with TLS on one of `server.httpsIncomingPort` too.
   * @returns the port of HTTP
   * @throws DatabaseError `InvalidSetting` when none is free or the address is not ours
   */
  async listen(): Promise<number> {
    const { settings } = this.#door;
    const host = settings.get(serverHttpIncomingHost);
    await this.#app.ready();
    const port = await listenOn(this.#server, {
      host,
      ports: settings.get(serverHttpIncomingPort),
      portSetting: serverHttpIncomingPort,
    });
    if (this.#secureServer) {
      this.#securePort = await listenOn(this.#secureServer, {
        host,
        ports: settings.get(serverHttpsIncomingPort),
        portSetting: serverHttpsIncomingPort,
      });
    }
    return port;
  }

  /** Where HTTPS is served; undefined without TLS. */
  get securePort(): number | undefined {
    return this.#securePort;
  }

  /**
   * Lets running requests finish; cancels what still runs after `timeoutMs`. New requests are refused meanwhile; connections
   * without one stay open for that, since their clients may just be sending.
   */
  async drain(timeoutMs: number): Promise<void> {
    const { clock, timers } = this.#door.runtime;
    const deadline = clock.monotonicMs() + timeoutMs;
    while (this.#gate.busyCount > 0 && clock.monotonicMs() < deadline) await timers.sleep(10);
    if (this.#gate.busyCount === 0) return;
    this.#gate.cancelAll(new DatabaseError('Cancelled', 'the server is stopping'));
    const end = clock.monotonicMs() + 2000;
    while (this.#gate.busyCount > 0 && clock.monotonicMs() < end) await timers.sleep(10);
  }

  async close(): Promise<void> {
    this.#door.deadlines.close();
    const servers = [this.#server, this.#secureServer].filter((server) => server !== undefined);
    const closed = servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    this.#gate.closeAll();
    await Promise.all(closed);
    await this.#app.close();
  }

  /** HTTP, and HTTPS beside it when the server has a certificate (contract 3, TLS). */
  #makeListeners(): { readonly plain: Server; readonly secure: HttpsServer | undefined } {
    const { settings, tls } = this.#door;
    const receivers = {
      gate: this.#gate,
      requestIds: this.#requestIds,
      bookmark: () => this.#bookmark(),
      upgrade: this.#upgrades.handle.bind(this.#upgrades),
    };
    const plain = makeListener(settings, receivers);
    if (!tls) return { plain, secure: undefined };
    const secure = makeListener(settings, receivers, tls.options) as HttpsServer;
    // Open connections keep what they agreed on; the next handshake takes the new certificate.
    tls.onChanged((options) => secure.setSecureContext(options));
    return { plain, secure };
  }

  /** First look at a request: its id, its form, whether the server stops. */
  #begin(
    request: IncomingMessage,
    response: ServerResponse,
    route: (request: IncomingMessage, response: ServerResponse) => void,
  ): void {
    const connection = connectionOf(request);
    if (!connection) return;
    const given = request.headers['x-request-id'];
    const own = given === undefined ? undefined : this.#requestIds.clean(String(given));
    const exchange = new Exchange({
      request,
      response,
      connection,
      door: this.#door,
      requestId: own ?? this.#requestIds.next(),
      hasClientRequestId: own !== undefined && request.headers[madeUpIdHeader] === undefined,
    });
    setExchange(request, exchange);
    connection.observer = exchange;
    const refusal = malformed(request, this.#door.settings);
    const owner = request.method === 'POST' ? undefined : this.#ownerOf(request);
    if (refusal) exchange.refuse(refusal);
    else if (owner && !owner.methods.includes(request.method ?? '') && !isPreflight(exchange))
      owner.refuse(exchange);
    else if (request.method === 'OPTIONS') answerPreflight(exchange);
    else if (!routedMethods.has(request.method ?? '')) this.#refuseUnknown(exchange);
    else if (request.method === 'GET' || request.method === 'HEAD')
      skipBody(request, this.#door.settings, {
        next: () => route(request, response),
        refuse: (tooLarge) => exchange.refuse(tooLarge),
      });
    else {
      const known = this.#knownPaths.find(request.method, request.url);
      if (known === undefined) route(request, response);
      else if (known.route.access === 'public') this.#handle(exchange, known);
      else this.#enter(exchange, known.route.access, () => this.#handle(exchange, known));
    }
  }

  /** Every route of this door. Complete when the server listens. */
  get routes(): readonly RouteDescription[] {
    return this.#routes;
  }

  #mount(mounted: MountedRoutes | undefined): void {
    const app = this.#app;
    const { telemetry } = this.#door;
    app.removeAllContentTypeParsers();
    // On the lean way bodies are read by the handlers.
    app.addContentTypeParser('*', (_request, _body, done) => done(null));
    app.addHook('onRequest', (request, _reply, done) => {
      const { method } = request;
      if (method !== 'GET' && method !== 'HEAD') request.headers = noContentType;
      done();
    });
    const lean = [...leanRoutes, ...(mounted?.routes ?? [])];
    const ofAccess = (access: Route['access']) => lean.filter((route) => route.access === access);
    this.#mountRoutes(app, ofAccess('public'));
    this.#mountScope('user', (scope) => this.#mountRoutes(scope, ofAccess('user')));
    this.#mountScope('root', (scope) => this.#mountRoutes(scope, ofAccess('root')));
    this.#mountScope('peer', (scope) => this.#mountRoutes(scope, ofAccess('peer')));
    void app.register(resourcesPlugin, {
      door: this.#door,
      resources: [...resources, ...(mounted?.resources ?? []), openApi(this.#routes)],
      rootResources: telemetry ? [startPage, prometheus] : [startPage],
      described: (route) => this.#described(route),
      enter: (exchange, access, next) => this.#enter(exchange, access, next),
    });
    app.setNotFoundHandler((request) => this.#refuseUnknown(exchangeOf(request.raw)));
    app.setErrorHandler((error, request) => exchangeOf(request.raw)?.fail(error));
  }

  #mountScope(
    access: Exclude<Route['access'], 'public'>,
    mount: (scope: FastifyInstance) => void,
  ): void {
    void this.#app.register(async (scope) => {
      scope.addHook('onRequest', (request, _reply, done) => {
        const exchange = exchangeOf(request.raw);
        if (exchange) this.#enter(exchange, access, done);
      });
      mount(scope);
    });
  }

  #mountRoutes(scope: FastifyInstance, routes: readonly Route[]): void {
    for (const route of routes) {
      const { method } = route;
      const meters = this.#metersOf(route);
      scope.route({
        method,
        url: urlOf(route),
        handler: (request: FastifyRequest, reply: FastifyReply) => {
          const exchange = exchangeOf(request.raw);
          if (!exchange) return;
          const parameters = request.params as Readonly<Record<string, string>>;
          const found = { route, ...meters, parameters };
          reply.hijack();
          this.#knownPaths.remember(request.raw.url, found);
          this.#handle(exchange, found);
        },
      });
    }
  }

  #metersOf(route: RouteDescription): Pick<FoundRoute, 'counter' | 'meter'> {
    const meter = this.#door.requests.add(route.method, urlOf(route));
    const counter = this.#door.meters.meter(meterNameOf(route));
    this.#routes.push(route);
    this.#meters.set(route, meter);
    return { counter, meter };
  }

  #described(route: RouteDescription): ArrivedAt {
    const meters = this.#metersOf(route);
    return (exchange, parameters) => this.#arrive(exchange, { route, ...meters, parameters });
  }

  /** @returns where the request is to be executed, when that is not simply here */
  #arrive(
    exchange: Exchange,
    found: Omit<FoundRoute, 'route'> & { readonly route: RouteDescription },
  ): Elsewhere | undefined {
    const { route, counter, meter, parameters } = found;
    counter.mark();
    exchange.route = meter;
    exchange.parameters = parameters;
    const { cluster } = this.#door;
    return cluster && placeOf(exchange, route, cluster);
  }

  #handle(exchange: Exchange, found: FoundRoute): void {
    const { route } = found;
    const place = this.#arrive(exchange, found);
    try {
      const later =
        place === undefined
          ? route.handle(exchange, this.#door)
          : this.#handleElsewhere(exchange, route, place);
      if (later) later.catch((error: unknown) => exchange.fail(error));
    } catch (error) {
      exchange.fail(error);
    }
  }

  /** Another server of the cluster executes it, unless this one turns out to be the right one. */
  async #handleElsewhere(exchange: Exchange, route: Route, place: Elsewhere): Promise<void> {
    const body = route.streamsBody ? exchange.streamedBody() : undefined;
    if (!(await sendOn(exchange, place, body))) await route.handle(exchange, this.#door);
  }

  #bookmark(): number {
    return this.#door.cluster?.view.appliedIndex() ?? 0;
  }

  #ownerOf({ url = '' }: IncomingMessage): PathOwner | undefined {
    if (this.#owners.size === 0) return undefined;
    const path = url.split('?', 1)[0] ?? '';
    return this.#owners.get(path.replace(/(?<=.)\/$/, ''));
  }

  /** The meter of the route that a request would have come to. */
  #meterOf({ method, url = '' }: IncomingMessage): RouteMeter | undefined {
    const path = url.split('?', 1)[0] ?? '';
    for (const [route, meter] of this.#meters)
      if (route.method === method && matches(urlOf(route), path)) return meter;
    return undefined;
  }

  /** Everything but probes waits for a worker slot, and is refused while the server stops. */
  #enter(exchange: Exchange, access: Route['access'], done: () => void): void {
    if (!this.#door.control.isOnline) {
      exchange.refuse(notOnline(this.#door.control.isStopping));
      return;
    }
    authenticated(exchange, access, () => exchange.connection.whenSlotIsFree(done));
  }

  #refuseUnknown(exchange: Exchange | undefined): void {
    if (!exchange) return;
    const path = (exchange.request.url ?? '').split('?')[0] ?? '';
    const allowed = this.#routes.filter((route) => matches(urlOf(route), path));
    const isUpgradePath = this.#upgradePaths.includes(path.replace(/(?<=.)\/$/, ''));
    if (allowed.length === 0 && !isUpgradePath) {
      exchange.refuse({ status: 404, error: 'Not found' });
      return;
    }
    const methods = isUpgradePath
      ? 'GET'
      : [...new Set(allowed.map(({ method }) => method))].join(', ');
    exchange.refuse({
      status: 405,
      error: 'Method not allowed',
      headers: ['Allow', `${methods}, OPTIONS`],
    });
  }

  #refuseBadUrl(request: IncomingMessage): void {
    exchangeOf(request)?.refuse({
      status: 400,
      error: 'Invalid path',
      detail: 'a percent sign must be followed by two hexadecimal digits of UTF-8',
    });
  }
}

/** No route has another method; fastify has rules of its own for some of those that node:http lets through. */
const routedMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE']);

const upgradeRequired: Refusal = {
  status: 400,
  error: 'WebSocket upgrade required',
  headers: ['Upgrade', 'websocket'],
};

/** Whether a path belongs to a route, whatever the method. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (pattern.endsWith('*') ? given.length < wanted.length : given.length !== wanted.length)
    return false;
  return wanted.every(
    (part, index) => part.startsWith(':') || part === '*' || part === given[index],
  );
}
