import type { Resource } from './resource.ts';
import type { PathOwner, Route } from './route.ts';

/** What a door above puts upon the HTTP door. */
export interface MountedRoutes {
  readonly resources: readonly Resource[];
  readonly routes: readonly Route[];
  readonly owners: readonly PathOwner[];
}
