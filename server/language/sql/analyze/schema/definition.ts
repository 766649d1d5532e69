import type { DefinitionChange } from '#catalog/change/definition-changes.ts';
import type { GraphViewMode, TriggerEvent, TriggerTiming } from '#catalog/definitions.ts';
import type { Command } from '../../statements.ts';
import { requireFunctionBody, requireScriptBody, requireTriggerAction } from '../body.ts';
import type { Analysis } from '../analysis.ts';

/** Triggers, functions and graph analytical views (sql.md 14) as changes of the schema; undefined for other commands. */
export function definitionChange(
  analysis: Analysis,
  command: Command,
): DefinitionChange | undefined {
  switch (command.name) {
    case 'CREATE TRIGGER':
      return createTrigger(analysis, command);
    case 'DROP TRIGGER':
      return { kind: 'drop-trigger', name: text(command, 'name'), ifExists: ifExists(command) };
    case 'DEFINE FUNCTION':
      return defineFunction(analysis, command);
    case 'DELETE FUNCTION':
      return { kind: 'delete-function', ...functionName(command) };
    default:
      return graphViewChange(command);
  }
}

function createTrigger(analysis: Analysis, command: Command): DefinitionChange {
  const event = text(command, 'event') as TriggerEvent;
  const language = text(command, 'language') as 'SQL' | 'JAVASCRIPT' | 'JAVA';
  const name = text(command, 'name');
  const action = text(command, 'body');
  if (language === 'SQL') requireTriggerAction(analysis, { name, event, action });
  if (language === 'JAVASCRIPT') requireScriptBody(`the action of trigger '${name}'`, [], action);
  return {
    kind: 'create-trigger',
    name,
    ifNotExists: command.arguments.get('ifNotExists') === true,
    timing: text(command, 'timing') as TriggerTiming,
    event,
    type: text(command, 'type'),
    language,
    action,
  };
}

function defineFunction(analysis: Analysis, command: Command): DefinitionChange {
  const { library, name } = functionName(command);
  const language = text(command, 'language').toLowerCase();
  const body = text(command, 'body');
  const parameters = names(command, 'parameters');
  if (language === 'sql') requireFunctionBody(analysis, `${library}.${name}`, body);
  if (language === 'js' || language === 'javascript')
    requireScriptBody(`the body of function '${library}.${name}'`, parameters, body);
  return {
    kind: 'define-function',
    library,
    name,
    parameters,
    language,
    body,
  };
}

function functionName(command: Command): { readonly library: string; readonly name: string } {
  return { library: text(command, 'library'), name: text(command, 'name') };
}

function graphViewChange(command: Command): DefinitionChange | undefined {
  const name = text(command, 'name');
  switch (command.name) {
    case 'CREATE GRAPH ANALYTICAL VIEW':
      return {
        kind: 'create-graph-view',
        name,
        ifNotExists: command.arguments.get('ifNotExists') === true,
        vertexTypes: names(command, 'vertexTypes'),
        edgeTypes: names(command, 'edgeTypes'),
        properties: names(command, 'properties'),
        edgeProperties: names(command, 'edgeProperties'),
        updateMode: updateMode(command) ?? 'OFF',
        compactionThreshold: threshold(command) ?? defaultCompactionThreshold,
      };
    case 'ALTER GRAPH ANALYTICAL VIEW':
      return {
        kind: 'alter-graph-view',
        name,
        updateMode: updateMode(command),
        compactionThreshold: threshold(command),
      };
    case 'REBUILD GRAPH ANALYTICAL VIEW':
      return { kind: 'rebuild-graph-view', name };
    case 'DROP GRAPH ANALYTICAL VIEW':
      return { kind: 'drop-graph-view', name, ifExists: ifExists(command) };
    default:
      return undefined;
  }
}

/** sql.md 14.4. */
const defaultCompactionThreshold = 10_000;

function updateMode(command: Command): GraphViewMode | undefined {
  return command.arguments.get('updateMode') as GraphViewMode | undefined;
}

function threshold(command: Command): number | undefined {
  return command.arguments.get('compactionThreshold') as number | undefined;
}

function ifExists(command: Command): boolean {
  return command.arguments.get('ifExists') === true;
}

function text(command: Command, argument: string): string {
  const value = command.arguments.get(argument);
  return typeof value === 'string' ? value : '';
}

function names(command: Command, argument: string): readonly string[] {
  const value = command.arguments.get(argument);
  return typeof value === 'object' && value.kind === 'names' ? value.value : [];
}
