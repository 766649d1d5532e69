/** Where security reports what happened (security.md 6); never with a secret. */
export interface Audit {
  report(type: 'INFO' | 'WARNING' | 'CRITICAL', message: string): void;
}

export const silentAudit: Audit = { report() {} };
