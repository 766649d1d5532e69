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
  const problem = problemWithName(name, lengthMax);
  if (problem !== undefined) throw new DatabaseError('IllegalArgument', `User name ${problem}`);
}

function problemWithName(name: string, lengthMax: number): string | undefined {
  if (name.trim() === '') return 'is blank';
  if ([...name].length > lengthMax)
    return `is longer than ${lengthMax} characters (service.maxNameLength)`;
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'has control characters';
  if (name.startsWith('apitoken:')) return `'${name}' starts with the reserved 'apitoken:'`;
  if (name.includes(':')) return `'${name}' contains ':'`;
  return undefined;
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
