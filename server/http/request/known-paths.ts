import type { Meter } from '#control/meters.ts';
import { takesShortcut } from '#platform/shortcuts.ts';
import type { RouteMeter } from './request-meter.ts';
import type { Route } from '../routes/route.ts';

/** A route with what counts and measures its requests, and the parameters that a path gives it. */
export interface FoundRoute {
  readonly route: Route;
  readonly counter: Meter;
  readonly meter: RouteMeter;
  readonly parameters: Readonly<Record<string, string>>;
}

const pathsMax = 256;
const pathLengthMax = 200;

/**
 * Where POST requests by some paths have come to. Clients send the same few paths over and over (`/api/v1/query/school`), and finding
 * the route anew with its objects and hooks is 2 us of some 45. Paths of GET may hold statements, which seldom repeat.
 */
export class KnownPaths {
  readonly #found = new Map<string, FoundRoute>();
  readonly #isUsed = takesShortcut('known-paths');

  /** Undefined: fastify is to find it. */
  find(method: string | undefined, url: string | undefined): FoundRoute | undefined {
    return method === 'POST' && url !== undefined ? this.#found.get(url) : undefined;
  }

  /** To be called by requests that were admitted, so that nobody else can fill it; strangers may by a public path that is one only. */
  remember(url: string | undefined, found: FoundRoute): void {
    if (
      !this.#isUsed ||
      url === undefined ||
      found.route.method !== 'POST' ||
      url.length > pathLengthMax
    )
      return;
    if (url.includes('?')) return;
    if (found.route.access === 'public' && Object.keys(found.parameters).length > 0) return;
    if (this.#found.size >= pathsMax) this.#found.clear();
    this.#found.set(url, found);
  }
}
