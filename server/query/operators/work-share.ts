/**
 * Rows or steps that an operator may work through in one `next()` before it answers PAUSE. Chosen so that a turn stays well
 * below the executor's 5 ms slice even when each row costs a microsecond or two.
 */
export const rowsPerTurn = 1024;
