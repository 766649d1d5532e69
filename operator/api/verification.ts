/** Codes for what a comparison of copies came to, beside those of HTTP that a member answers. */
export const verificationCodes = { inconsistent: 422, incomplete: 424 } as const;

export function isInconsistent(code: number): boolean {
  return code === verificationCodes.inconsistent;
}
