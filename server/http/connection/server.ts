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
import { routesWith } from '../routes.ts';
import { prometheusRoutes } from '../routes/prometheus.ts';
import {
  meterNameOf,
  type MountedRoutes,
  type PathOwner,
  type Route,
  urlOf,
} from '../routes/route.ts';
import { ColumnTemplates } from '../serializers/record.ts';
import { TruncationLog } from '../answer/truncation-log.ts';
import { type UpgradeHandler, Upgrades } from './upgrade.ts';

/** Between servers of a cluster: the one before has made the id up (`cluster/forwarding/forwarder.ts`). */
const madeUpIdHeader = 'x-service-forwarded-request-id';

const exchangeKey = Symbol('exchange');
type ExchangedRequest = IncomingMessage & { [exchangeKey]?: Exchange };

const noCompiler = (): never => {
  throw new Error('bodies are checked by `body-fields.ts`');
};

/**
 * The HTTP door: fastify routes, node:http carries (house decision 32). Routes live in nested scopes, one for each kind of
 * access, so that a handler never checks it again; the hot path has one hook. Answers go straight to node:http.
 */
export class HttpServer {
  readonly #door: Door;
  readonly #gate: ConnectionGate;
  readonly #app: FastifyInstance;
  readonly #requestIds: RequestIds;
  readonly #server: Server;
  readonly #secureServer: HttpsServer | undefined;
  readonly #upgrades: Upgrades;
  readonly #routes: readonly Route[];
  readonly #owners = new Map<string, PathOwner>();
  /** Of `mountUpgrade`. */
  readonly #upgradePaths: string[] = [];
  readonly #meters = new Map<Route, RouteMeter>();
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
    if (cluster) telemetry?.add(() => clusterFamilies(cluster));
    this.#routes = [
      ...routesWith(mounted?.routes ?? []),
      ...(dependencies.telemetry ? prometheusRoutes : []),
      ...(mounted?.routes ?? []),
    ];
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
        onBadUrl: (_path, request) => this.#refuseBadUrl(request as unknown as IncomingMessage),
      },
      exposeHeadRoutes: false,
      // No route has a schema for fastify; its compilers would be 100 files of an idle server.
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
    this.#mount();
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
    request: ExchangedRequest,
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
    request[exchangeKey] = exchange;
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
      else this.#enter(exchange, known.route.access, () => this.#handle(exchange, known));
    }
  }

  #mount(): void {
    const app = this.#app;
    // Bodies are read by the handlers, after authentication.
    for (const method of ['POST', 'PUT', 'DELETE'])
      app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
    const ofAccess = (access: Route['access']) =>
      this.#routes.filter((route) => route.access === access);
    this.#mountRoutes(app, ofAccess('public'));
    this.#mountScope('user', (scope) => this.#mountRoutes(scope, ofAccess('user')));
    this.#mountScope('root', (scope) => this.#mountRoutes(scope, ofAccess('root')));
    this.#mountScope('peer', (scope) => this.#mountRoutes(scope, ofAccess('peer')));
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
      const meter = this.#door.requests.add(method, urlOf(route));
      const counter = this.#door.meters.meter(meterNameOf(route));
      this.#meters.set(route, meter);
      scope.route({
        method,
        url: urlOf(route),
        handler: (request: FastifyRequest, reply: FastifyReply) => {
          const exchange = exchangeOf(request.raw);
          if (!exchange) return;
          const parameters = request.params as Readonly<Record<string, string>>;
          const found = { route, counter, meter, parameters };
          reply.hijack();
          this.#knownPaths.remember(request.raw.url, found);
          this.#handle(exchange, found);
        },
      });
    }
  }

  #handle(exchange: Exchange, { route, counter, meter, parameters }: FoundRoute): void {
    counter.mark();
    exchange.route = meter;
    exchange.parameters = parameters;
    const { cluster } = this.#door;
    const place = cluster && placeOf(exchange, route, cluster);
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

function exchangeOf(request: ExchangedRequest): Exchange | undefined {
  return request[exchangeKey];
}

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
