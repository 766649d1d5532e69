import type { Expression } from './expression.ts';
import type { Assignment } from './plan.ts';

/** What stands in assignments, in the order in which `mapAssignment` goes through it. */
export function expressionsOfAssignments(
  assignments: readonly Assignment[],
): readonly Expression[] {
  const expressions: Expression[] = [];
  for (const assignment of assignments) gather(assignment, expressions);
  return expressions;
}

function gather(assignment: Assignment, expressions: Expression[]): void {
  if (assignment.kind === 'entry') expressions.push(assignment.key, assignment.value);
  else if (assignment.kind === 'merge' || assignment.kind === 'content') {
    expressions.push(assignment.value);
    for (const { type } of assignment.entryTypes ?? []) expressions.push(type);
  } else {
    for (const element of assignment.path)
      if (element.kind === 'element') expressions.push(element.key);
    if (assignment.value) expressions.push(assignment.value);
    if (assignment.kind === 'set' && assignment.valueType) expressions.push(assignment.valueType);
  }
}

/** The assignment with the expressions that stand in it replaced. */
export function mapAssignment(
  assignment: Assignment,
  map: (expression: Expression) => Expression,
): Assignment {
  if (assignment.kind === 'merge' || assignment.kind === 'content')
    return {
      ...assignment,
      value: map(assignment.value),
      ...(assignment.entryTypes && {
        entryTypes: assignment.entryTypes.map(({ key, type }) => ({
          key,
          type: map(type),
        })),
      }),
    };
  if (assignment.kind === 'entry')
    return {
      ...assignment,
      key: map(assignment.key),
      value: map(assignment.value),
    };
  const path = assignment.path.map((element) =>
    element.kind === 'element' ? { ...element, key: map(element.key) } : element,
  );
  return assignment.kind === 'set'
    ? {
        ...assignment,
        path,
        value: map(assignment.value),
        ...(assignment.valueType && { valueType: map(assignment.valueType) }),
      }
    : { ...assignment, path, value: assignment.value && map(assignment.value) };
}
