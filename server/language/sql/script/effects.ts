import { isOperation } from '../analyze/operation.ts';
import type { ScriptEffects } from '../../script-steps.ts';

/** Statements that write, and whatever is not known to only read. */
const writing: ReadonlySet<string> = new Set([
  'insert',
  'createEdge',
  'update',
  'delete',
  'createType',
  'alterType',
  'dropType',
  'createProperty',
  'alterProperty',
  'dropProperty',
  'createBucket',
  'dropBucket',
  'createIndex',
  'dropIndex',
]);
const changing: ReadonlySet<string> = new Set(['begin', 'commit', 'rollback', 'lock', 'setGlobal']);
const affecting: ReadonlySet<string> = new Set(['lock', 'setGlobal']);
/** Leaves that may be long and hold no statement. */
const leaves: ReadonlySet<string> = new Set(['literal', 'constants', 'name', 'parameter', 'rid']);

/**
 * What a syntax tree may do when it is run: every statement in it counts, wherever it stands, but for those that are only
 * explained. Linear in the tree.
 */
export function effectsOfSyntax(tree: unknown): ScriptEffects {
  const found = {
    writes: false,
    changesState: false,
    affectsOthers: false,
    operates: false,
    functions: new Set<string>(),
  };
  for (const node of nodesOf(tree)) {
    const { kind } = node;
    if (isWriting(node)) found.writes = true;
    if (changing.has(kind)) found.changesState = true;
    if (affecting.has(kind)) found.affectsOthers = true;
    if (isOperation(node)) found.operates = true;
    if (kind === 'call') found.functions.add((node as { name: string }).name.toLowerCase());
  }
  return found;
}

/** A statement or expression, seen as a node of the tree. */
export interface SyntaxNode {
  readonly kind: string;
  readonly name?: unknown;
}

/** Every node of a tree but literals and plain names, in no order; what is only explained is left out. Linear in the tree. */
export function* nodesOf(tree: unknown): Generator<SyntaxNode> {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (Array.isArray(node) || node instanceof Map) {
      for (const part of node.values()) waiting.push(part);
      continue;
    }
    const { kind } = node as { readonly kind?: unknown };
    if (typeof kind === 'string') {
      if (leaves.has(kind) || isExplained(node)) continue;
      yield node as SyntaxNode;
    }
    for (const part of Object.values(node)) waiting.push(part);
  }
}

/** True for a statement that may write by itself; what stands in it is not looked at. */
export function isWriting(node: SyntaxNode): boolean {
  return writing.has(node.kind) || isWritingCommand(node);
}

function isExplained(node: object): boolean {
  return 'mode' in node && node.mode === 'explain';
}

function isWritingCommand(node: object): boolean {
  if (!('kind' in node) || node.kind !== 'command') return false;
  return !('name' in node) || node.name !== 'FIND REFERENCES';
}
