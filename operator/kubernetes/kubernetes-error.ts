/** An answer of the API server that is not success, or none at all (`code` 0). */
export class KubernetesError extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly code: number;
  /** The API server's word for it, such as `Conflict`. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** A budget refused an eviction, which shares its status with an API server that is busy. */
  readonly isByBudget: boolean;

  constructor(given: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly retryAfterMs?: number | undefined;
    readonly isByBudget?: boolean;
  }) {
    super(given.message);
    this.name = 'KubernetesError';
    this.code = given.code;
    this.reason = given.reason;
    this.retryAfterMs = given.retryAfterMs;
    this.isByBudget = given.isByBudget ?? false;
  }
}

export function codeOf(error: unknown): number | undefined {
  return error instanceof KubernetesError ? error.code : undefined;
}

/**
 * Where the API server checks who may set owner references, it learns of a kind up to half a minute after its definition was
 * made, and forbids owners of that kind until then. That passes by itself.
 */
const newKindMs = 2000;
/** In the answer of an API server that has not learned of a kind yet. */
export const unknownKindText = 'cannot find RESTMapping';
const budgetCause = 'DisruptionBudget';

interface StatusAnswer {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string }[] };
}

/** Makes an error of an answer. The body is a `Status`; its message names the object and the reason, never a secret value. */
export function errorOfAnswer(answer: {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}): KubernetesError {
  let reason = '';
  let message = answer.body.slice(0, 500);
  let isByBudget = false;
  try {
    const status = JSON.parse(answer.body) as StatusAnswer;
    reason = status.reason ?? '';
    message = status.message ?? message;
    isByBudget = (status.details?.causes ?? []).some((cause) => cause.reason === budgetCause);
  } catch {
    // Proxies in between answer in their own words.
  }
  if (answer.status === 403 && message.includes(unknownKindText))
    return new KubernetesError({ code: 503, reason, message, retryAfterMs: newKindMs });
  const seconds = Number(answer.retryAfter);
  return new KubernetesError({
    code: answer.status,
    reason,
    message: message === '' ? `the API server answered ${answer.status}` : message,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
    isByBudget,
  });
}
