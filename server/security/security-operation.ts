/** A change of users or groups as it travels in the log of a cluster: hashes of passwords only (ha.md 5.12). */
export type SecurityOperation =
  /** One line of the users' file. */
  | { readonly op: 'put-user'; readonly line: string }
  | { readonly op: 'drop-user'; readonly name: string }
  /** All of them. */
  | { readonly op: 'users'; readonly text: string }
  /** The document of groups. */
  | { readonly op: 'groups'; readonly text: string };

/** Puts changes into the log; resolves when they are in force here. @throws DatabaseError `NotLeader`, `QuorumNotReached` */
export type PublishSecurity = (operations: readonly SecurityOperation[]) => Promise<void>;
