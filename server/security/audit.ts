/** Where security reports what happened (security.md 6); never with a secret. */
export interface Audit {
  /** @param requestId of the request that caused it, for the log */
  report(type: 'INFO' | 'WARNING' | 'CRITICAL', message: string, requestId?: string): void;
}

export const silentAudit: Audit = { report() {} };
