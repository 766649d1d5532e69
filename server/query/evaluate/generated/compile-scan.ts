import { AdaptiveScan } from './adaptive-rows.ts';
import { ClosureRows, compileClosures } from './block-scan.ts';
import type { CompiledScan, ScanSpec } from './block-scan.ts';
import type { CompileEnvironment } from '../evaluator.ts';
import { termsOf } from './scan-terms.ts';

/** How rows are looked at; `adaptive` is for servers, the others are for tests and measurements. */
export type ScanMode = 'adaptive' | 'closures' | 'generated';

/**
 * Compiles the scan of a plan (see block-scan.ts for its use).
 * @throws DatabaseError as `compileExpression`
 */
export function compileScan(
  spec: ScanSpec,
  env: CompileEnvironment,
  mode: ScanMode = 'adaptive',
): CompiledScan {
  const closures = compileClosures(spec, env);
  if (mode !== 'closures') {
    const terms = termsOf(spec, env);
    if (terms.isWorthGenerating)
      return new AdaptiveScan(spec, closures, terms, { startsHot: mode === 'generated' });
  }
  return { bind: (context) => new ClosureRows(spec, closures, context) };
}
