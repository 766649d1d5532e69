/**
 * Claims about our own code, never about input. A failed claim in storage or transaction ends the process
 * (main.ts installs the handler): state is in doubt there.
 */
export class AssertionFailure extends Error {
  constructor(claim: string) {
    super(`assertion failed: ${claim}`);
    this.name = 'AssertionFailure';
  }
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailure(claim);
}

/** For the default branch of a switch over a union: a new member fails to compile until someone decides. */
export function unreachable(member: never): never {
  throw new AssertionFailure(`unreachable: ${JSON.stringify(member)}`);
}
