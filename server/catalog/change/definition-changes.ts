import type { GraphViewMode, RefreshMode, TriggerEvent, TriggerTiming } from '../definitions.ts';

/** What the statements of sql.md 14 ask for; bodies and queries have been parsed. A part of `SchemaChange`. */
export type DefinitionChange =
  | {
      readonly kind: 'create-trigger';
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly timing: TriggerTiming;
      readonly event: TriggerEvent;
      readonly type: string;
      readonly language: 'SQL' | 'JAVASCRIPT' | 'JAVA';
      readonly action: string;
    }
  | { readonly kind: 'drop-trigger'; readonly name: string; readonly ifExists: boolean }
  | {
      readonly kind: 'define-function';
      readonly library: string;
      readonly name: string;
      readonly parameters: readonly string[];
      /** In lower case. */
      readonly language: string;
      readonly body: string;
    }
  | { readonly kind: 'delete-function'; readonly library: string; readonly name: string }
  | {
      readonly kind: 'create-view';
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly query: string;
      readonly refreshMode: RefreshMode;
      readonly refreshIntervalMs: number;
      readonly isSimple: boolean;
      readonly sourceTypes: readonly string[];
      readonly readsAnyType: boolean;
      readonly bucketCount: number | undefined;
      /** The rows are there already, as documents of a type of this name: those of an import. */
      readonly adoptsType?: true;
    }
  | {
      readonly kind: 'alter-view';
      readonly name: string;
      readonly refreshMode: RefreshMode;
      readonly refreshIntervalMs: number;
    }
  | { readonly kind: 'drop-view'; readonly name: string; readonly ifExists: boolean }
  | {
      readonly kind: 'create-graph-view';
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly vertexTypes: readonly string[];
      readonly edgeTypes: readonly string[];
      readonly properties: readonly string[];
      readonly edgeProperties: readonly string[];
      readonly updateMode: GraphViewMode;
      readonly compactionThreshold: number;
    }
  | {
      readonly kind: 'alter-graph-view';
      readonly name: string;
      readonly updateMode: GraphViewMode | undefined;
      readonly compactionThreshold: number | undefined;
    }
  | { readonly kind: 'rebuild-graph-view'; readonly name: string }
  | { readonly kind: 'drop-graph-view'; readonly name: string; readonly ifExists: boolean };

/** True when the change brings in or concerns text of a scripting language, which needs `updateSecurity` (security.md 4.3). */
export function isScripting(change: { readonly kind: string }): boolean {
  const { kind } = change;
  if (kind !== 'create-trigger' && kind !== 'define-function') return false;
  const { language } = change as { readonly language?: string };
  return language !== undefined && scripting.has(language.toLowerCase());
}

const scripting: ReadonlySet<string> = new Set(['js', 'javascript', 'java']);
