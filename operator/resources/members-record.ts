import { z } from 'zod';

/*
 * The record of the volume guard (operator.md 5.2), kept in the ConfigMap `<cluster>-members`. It says which volumes hold
 * data, so that an empty disk never comes back under the name of a full one.
 */

export const membersFile = 'members.json';

const memberRecord = z.object({
  /** `fresh`: never ran. `member`: holds data. `replace`: its loss was approved. `adopt`: a foreign volume was approved. */
  state: z.enum(['fresh', 'member', 'replace', 'adopt']),
  /** Counts approved replacements; a marker with a smaller number belongs to an earlier life. */
  incarnation: z.int(),
});

const membersRecord = z.object({
  clusterId: z.string(),
  initialised: z.boolean(),
  /** Absent in records of versions without replication. */
  replicated: z.boolean().optional(),
  /** All voters start together and form the group; absent: ordinal 0 forms it. */
  formation: z.literal('static').optional(),
  /** Ordinals that never lead (`spec.members`). */
  followers: z.array(z.int()).optional(),
  /** The data of `spec.bootstrap.fromBackup` are here: they are never restored again. */
  restored: z.boolean().optional(),
  /** A person approved that a lost quorum is given up: who goes on alone, and whether all have stopped. */
  recovery: z
    .object({ token: z.string(), survivor: z.int(), step: z.enum(['stop', 'survive']) })
    .optional(),
  /** All members end together: none hands the lead to another one (operator.md 8.11). */
  hibernating: z.literal(true).optional(),
  /** The last token by which that was done: it does not count again. */
  recovered: z.string().optional(),
  members: z.record(z.string(), memberRecord),
});

export type MemberRecord = z.output<typeof memberRecord>;
export type MembersRecord = z.output<typeof membersRecord>;

/** @returns undefined for a text that is no record; it is then written anew from the claims */
export function parseMembersRecord(text: string | undefined): MembersRecord | undefined {
  if (text === undefined) return undefined;
  try {
    return membersRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function printMembersRecord(record: MembersRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
