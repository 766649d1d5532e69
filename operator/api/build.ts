/*
 * What a server says of its build (`polyad --version --json`, house decision 39), as far as it decides whether another build may go
 * on with its data. An older one says nothing of the kind; then the number of its version is all that is known.
 */

export interface Build {
  readonly version: string | undefined;
  /** By kind of data; empty where the build does not tell. */
  readonly formats: ReadonlyMap<string, Format>;
  /** What it can switch on in the log once it leads, and builds without it cannot read. */
  readonly features: readonly string[];
  /** The oldest version that reads what it writes while none of its features is on. */
  readonly downgradeSafeTo: string | undefined;
}

export interface Format {
  readonly readsFrom: number;
  readonly readsTo: number;
  readonly writes: number;
}

/** What a precheck Job has found out, as text of the builds. */
export interface PrecheckReport {
  /** Of the image that runs. */
  readonly present: string | undefined;
  /** Of the image that is tried. */
  readonly next: string | undefined;
  /** Why its pod does not get on. */
  readonly problem: string | undefined;
}

const featurePrefix = 'feature:';

/** @returns undefined for a text that describes no build */
export function parseBuild(text: string | undefined): Build | undefined {
  let given: unknown;
  try {
    given = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  if (typeof given !== 'object' || given === null) return undefined;
  const { version, formats, capabilities, downgradeSafeTo } = given as Record<string, unknown>;
  const features = (Array.isArray(capabilities) ? capabilities : []).flatMap((name: unknown) =>
    typeof name === 'string' && name.startsWith(featurePrefix)
      ? [name.slice(featurePrefix.length)]
      : [],
  );
  return {
    version: textOf(version),
    formats: new Map(Object.entries(formats ?? {}).flatMap(formatOf)),
    features,
    downgradeSafeTo: textOf(downgradeSafeTo),
  };
}

/** A build of which nothing but its version is known. */
export function bareBuild(version: string | undefined): Build {
  return { version, formats: new Map(), features: [], downgradeSafeTo: undefined };
}

function formatOf([kind, format]: [string, unknown]): [string, Format][] {
  const { reads, writes } = (format ?? {}) as {
    readonly reads?: unknown;
    readonly writes?: unknown;
  };
  if (!Array.isArray(reads) || typeof writes !== 'number') return [];
  const [readsFrom, readsTo] = reads as readonly unknown[];
  if (typeof readsFrom !== 'number' || typeof readsTo !== 'number') return [];
  return [[kind, { readsFrom, readsTo, writes }]];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
