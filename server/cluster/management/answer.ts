/** What a management endpoint answers; `body.error` stands in refusals. */
export interface ManagementAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Seconds. */
  readonly retryAfter?: number;
}

export function done(body: Readonly<Record<string, unknown>>): ManagementAnswer {
  return { status: 200, body };
}

export function refused(
  status: number,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): ManagementAnswer {
  return { status, body: { error, ...more }, ...(status === 503 && { retryAfter: 1 }) };
}

export const noLeader = refused(503, 'No leader is known');

/** 503 would say that nothing has changed. */
export const outcomeUnknown = refused(
  504,
  'The leader went before it could tell whether the change was made; ask again, or look at GET /cluster',
);
