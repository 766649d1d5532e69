import { DatabaseError } from '#core/errors.ts';

/** The user that may do everything. */
export const rootName = 'root';

const passwordLengthMin = 8;
const passwordLengthMax = 256;

/**
 * Refuses what cannot be the name of a user: limits.md 22, and a colon, which would end the name in Basic credentials
 * (it also covers the reserved prefix `apitoken:`).
 * @param lengthMax `service.maxNameLength`
 * @throws DatabaseError `IllegalArgument`
 */
export function requireUserName(name: string, lengthMax: number): void {
  requireName('User name', name, lengthMax);
  if (name.startsWith('apitoken:'))
    refuse('User name', `'${name}' starts with the reserved 'apitoken:'`);
  if (name.includes(':')) refuse('User name', `'${name}' contains ':'`);
}

/**
 * Refuses what cannot be a name (limits.md 12 and 22).
 * @param what it names, for the message
 * @param lengthMax `service.maxNameLength`
 * @throws DatabaseError `IllegalArgument`
 */
export function requireName(what: string, name: string, lengthMax: number): void {
  if (name.trim() === '') refuse(what, 'is blank');
  if ([...name].length > lengthMax)
    refuse(what, `is longer than ${lengthMax} characters (service.maxNameLength)`);
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) refuse(what, 'has control characters');
}

/** As `requireName`, for the databases of a user and their levels. @throws DatabaseError `IllegalArgument` */
export function requireAccessNames(
  databases: ReadonlyMap<string, readonly string[]>,
  lengthMax: number,
): void {
  for (const [database, levels] of databases) {
    requireName('Database name', database, lengthMax);
    for (const level of levels) requireName('Group name', level, lengthMax);
  }
}

function refuse(what: string, problem: string): never {
  throw new DatabaseError('IllegalArgument', `${what} ${problem}`);
}

/** @throws DatabaseError `IllegalArgument` for a password that is not 8 to 256 characters long */
export function requirePassword(password: string): void {
  const { length } = [...password];
  if (length < passwordLengthMin)
    throw new DatabaseError(
      'IllegalArgument',
      `Password has ${length} characters, at least ${passwordLengthMin} are needed`,
    );
  if (length > passwordLengthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `Password has ${length} characters, at most ${passwordLengthMax} are allowed`,
    );
}
