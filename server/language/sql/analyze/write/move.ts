import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import { isList } from '#core/value/value.ts';
import type { Move } from '#query/algebra/plan.ts';
import type { Expression } from '../../ast.ts';
import type { MatchMove } from '../../statements.ts';
import type { Analysis } from '../analysis.ts';
import { constantOf } from '../expression/constant.ts';

type Direction = 'out' | 'in' | 'both';

const methods = new Map<
  string,
  { readonly kind: 'vertex' | 'edge' | 'end'; readonly direction: Direction }
>([
  ['out', { kind: 'vertex', direction: 'out' }],
  ['in', { kind: 'vertex', direction: 'in' }],
  ['both', { kind: 'vertex', direction: 'both' }],
  ['oute', { kind: 'edge', direction: 'out' }],
  ['ine', { kind: 'edge', direction: 'in' }],
  ['bothe', { kind: 'edge', direction: 'both' }],
  ['outv', { kind: 'end', direction: 'out' }],
  ['inv', { kind: 'end', direction: 'in' }],
  ['bothv', { kind: 'end', direction: 'both' }],
]);

/** One step of a MATCH path as a move of the algebra. */
export function moveOf(
  analysis: Analysis,
  move: Exclude<MatchMove, { readonly kind: 'group' }>,
): Move {
  switch (move.kind) {
    case 'property':
      return { kind: 'link', property: move.name };
    case 'arrow': {
      const types =
        move.type === undefined ? undefined : typesNamed(analysis, [move.type], move.typeAt);
      return { kind: 'vertex', direction: move.direction, types };
    }
    default: {
      const found = methods.get(move.name.toLowerCase());
      assert(found !== undefined, 'the parser lets no other method pass');
      const { kind, direction } = found;
      if (kind === 'end') return { kind, direction };
      return { kind, direction, types: edgeTypes(analysis, move.arguments) };
    }
  }
}

/** Edge types by name; none means all. */
function edgeTypes(analysis: Analysis, args: readonly Expression[]): readonly TypeId[] | undefined {
  const types = args.flatMap((argument) => {
    const names = namesIn(analysis, argument);
    return names.length === 0 ? [] : [typesNamed(analysis, names, argument.at)];
  });
  return types.length === 0 ? undefined : [...new Set(types.flat())];
}

/** With their subtypes. No edge is of a type that does not exist (house decision 84). */
function typesNamed(analysis: Analysis, names: readonly string[], at: number): readonly TypeId[] {
  const { catalog } = analysis;
  const ids = new Set<TypeId>();
  for (const name of names) {
    const type = catalog.typeNamed(name);
    if (type?.kind !== 'edge') analysis.warnOfEdgeType(name, at);
    if (type !== undefined) for (const id of catalog.withSubtypes(type.id)) ids.add(id);
  }
  return [...ids];
}

/** As in the functions of the same names, null stands for all types. */
function namesIn(analysis: Analysis, argument: Expression): readonly string[] {
  const given = constantOf(analysis, argument, 'the edge type of a step');
  if (given === null) return [];
  const values = isList(given) ? given : [given];
  return values.map((value) => {
    if (typeof value === 'string') return value;
    const shown = analysis.text.slice(argument.at, argument.end);
    throw new DatabaseError('IllegalArgument', `'${shown}' is no name of an edge type`);
  });
}
