import type { Attribute, Expression as Computed } from '#query/algebra/expression.ts';
import type { Row } from '#query/binder/row.ts';
import { valueOfRow } from '#query/binder/row.ts';
import { type Binding, currentOf, rootOf, type Scope } from '#query/binder/scope.ts';
import type { Expression, Name, Property, SystemAttribute } from '../ast.ts';
import { type Analysis, type Environment, nullConstant } from './analysis.ts';

/** What names mean (sql.md 5.2, 5.8). A name that is nowhere is null and never an error. */

/** A plain name or a `$variable`. */
export function analyzeName(analysis: Analysis, node: Name, env: Environment): Computed {
  const overlay = env.names?.get(node.name);
  if (overlay !== undefined) {
    analysis.dependencies.note(env.scope.level);
    return overlay;
  }
  if (!node.isQuoted && node.name.startsWith('$')) return analyzeVariable(analysis, node, env);
  return memberOfRow(analysis, env.row, env.scope.level, node.name);
}

const attributes: ReadonlyMap<string, Attribute> = new Map<SystemAttribute, Attribute>([
  ['@rid', 'rid'],
  ['@type', 'type'],
  ['@cat', 'cat'],
  ['@in', 'in'],
  ['@out', 'out'],
]);

/** The system attribute that a name spells, in any letter case. */
export function attributeNamed(name: string): Attribute | undefined {
  return name.startsWith('@') ? attributes.get(name.toLowerCase()) : undefined;
}

/** A column, property or attribute of a row that stands at `level`. */
export function memberOfRow(analysis: Analysis, row: Row, level: number, name: string): Computed {
  if (row.kind === 'none') return nullConstant;
  analysis.dependencies.note(level);
  if (row.kind === 'columns') {
    const slot =
      row.columns.get(name) ??
      row.columns.get(name.toLowerCase().startsWith('@') ? name.toLowerCase() : name);
    return slot === undefined ? nullConstant : { op: 'Slot', slot };
  }
  return memberOf({ op: 'Slot', slot: row.slot }, name);
}

/** A property or attribute of a value. */
export function memberOf(of: Computed, name: string): Computed {
  const attribute = attributeNamed(name);
  if (attribute !== undefined) return { op: 'Attribute', of, attribute };
  // Tokens of the reference grammar without a value of their own (sql.md 1.6).
  if (name === '@props' || name === '@rid_id' || name === '@rid_pos') return nullConstant;
  return { op: 'Property', of, name, dialect: 'sql' };
}

/** The whole row of a scope, `@this` or `$current`. */
export function wholeRow(analysis: Analysis, row: Row, level: number): Computed {
  if (row.kind !== 'none') analysis.dependencies.note(level);
  return valueOfRow(row);
}

/** `$x`, or `$parent`, `$current` and the like as a value. */
function analyzeVariable(analysis: Analysis, node: Name, env: Environment): Computed {
  const reference = contextReference(node, env);
  if (reference !== undefined) return referenceAsValue(analysis, reference);
  const key = node.name.slice(1);
  const binding = bindingNamed(env.scope, key);
  if (binding !== undefined) return bindingAsValue(analysis, binding);
  const variable: Computed = { op: 'Variable', name: key };
  if (analysis.variables.has(key)) return variable;
  // Without a search every row is equally relevant (sql-functions.md 6).
  if (key === 'score' || key === 'similarity') return { op: 'Constant', value: 0 };
  const member = memberOfRow(analysis, env.row, env.scope.level, node.name);
  if (member === nullConstant) return variable;
  return { op: 'Coalesce', operands: [variable, member] };
}

/** Looks a variable up from the inside out. */
export function bindingNamed(scope: Scope, key: string): Binding | undefined {
  for (let current: Scope | undefined = scope; current !== undefined; current = current.parent) {
    const binding = current.bindings.get(key);
    if (binding !== undefined) return binding;
  }
  return undefined;
}

function bindingAsValue(analysis: Analysis, binding: Binding): Computed {
  analysis.dependencies.note(binding.level);
  if (binding.kind === 'value') return binding.value;
  return {
    op: 'Map',
    entries: [...binding.members].map(([key, slot]) => ({ key, value: { op: 'Slot', slot } })),
  };
}

/** What `$parent`, `$current`, `$matched`, ... stand for. */
type ContextReference =
  /** `undefined`: there is no such context. */
  | { readonly kind: 'context'; readonly scope: Scope | undefined }
  | { readonly kind: 'row'; readonly row: Row; readonly level: number }
  | { readonly kind: 'binding'; readonly binding: Binding };

/** The context that a path of names starts with; undefined when it is no such path. */
function contextReference(node: Expression, env: Environment): ContextReference | undefined {
  if (node.kind === 'name') {
    if (node.isQuoted || !node.name.startsWith('$')) return undefined;
    return contextMember(env.scope, node.name.slice(1), env);
  }
  if (node.kind !== 'property') return undefined;
  const base = contextReference(node.of, env);
  if (base?.kind !== 'context') return undefined;
  if (base.scope === undefined) return { kind: 'context', scope: undefined };
  const key = node.name.startsWith('$') ? node.name.slice(1) : node.name;
  const member = contextMember(base.scope, key, env);
  if (member !== undefined) return member;
  const binding = bindingNamed(base.scope, key);
  return binding && { kind: 'binding', binding };
}

function contextMember(scope: Scope, key: string, env: Environment): ContextReference | undefined {
  switch (key) {
    case 'parent':
      return { kind: 'context', scope: enclosingContext(scope) };
    case 'root':
      return { kind: 'context', scope: rootOf(scope) };
    case 'context':
      return { kind: 'context', scope: currentOf(scope) };
    case 'current':
    case 'currentMatch': {
      const current = currentOf(scope);
      // A stage may see another row than the one its scope started with.
      const row = current === env.scope ? env.row : current.row;
      return { kind: 'row', row, level: current.level };
    }
    case 'matched': {
      const binding = bindingNamed(scope, key);
      return binding && { kind: 'binding', binding };
    }
    default:
      return undefined;
  }
}

/** The context of the query around the one that `scope` belongs to. */
function enclosingContext(scope: Scope): Scope | undefined {
  let current = currentOf(scope);
  // A candidate of a pattern belongs to the query that holds the pattern.
  while (current.kind === 'element') current = current.parent;
  return current.parent && currentOf(current.parent);
}

function referenceAsValue(analysis: Analysis, reference: ContextReference): Computed {
  switch (reference.kind) {
    case 'row':
      return wholeRow(analysis, reference.row, reference.level);
    case 'binding':
      return bindingAsValue(analysis, reference.binding);
    default:
      return reference.scope === undefined ? nullConstant : contextAsMap(analysis, reference.scope);
  }
}

/** `$parent` or `$context` as a map of its variables. */
function contextAsMap(analysis: Analysis, scope: Scope): Computed {
  const entries = [{ key: 'current', value: wholeRow(analysis, scope.row, scope.level) }];
  for (const [key, binding] of scope.bindings)
    entries.push({ key, value: bindingAsValue(analysis, binding) });
  return { op: 'Map', entries };
}

/** `a.b`, also where `a` is a context. */
export function analyzeProperty(analysis: Analysis, node: Property, env: Environment): Computed {
  const own = contextReference(node, env);
  if (own !== undefined) return referenceAsValue(analysis, own);
  const base = contextReference(node.of, env);
  if (base === undefined) return memberOf(analysis.expression(node.of, env), node.name);
  if (base.kind === 'row') return memberOfRow(analysis, base.row, base.level, node.name);
  if (base.kind === 'context') {
    if (base.scope === undefined) return nullConstant;
    return memberOfRow(analysis, base.scope.row, base.scope.level, node.name);
  }
  const { binding } = base;
  if (binding.kind === 'group') {
    const slot = binding.members.get(node.name);
    if (slot === undefined) return nullConstant;
    analysis.dependencies.note(binding.level);
    return { op: 'Slot', slot };
  }
  return memberOf(bindingAsValue(analysis, binding), node.name);
}
