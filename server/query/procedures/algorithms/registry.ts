import { DatabaseError } from '#core/errors.ts';
import { reading } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { communityAlgorithms } from './communities.ts';
import { componentAlgorithms } from './components.ts';
import { densityAlgorithms } from './density.ts';
import { distanceAlgorithms } from './distances.ts';
import { rankAlgorithms } from './ranks.ts';
import { routeAlgorithms } from './routes.ts';
import { similarityAlgorithms } from './similarities.ts';
import { structureAlgorithms } from './structure.ts';
import { treeAlgorithms } from './trees.ts';

/** All of `algo.*` (cypher.md 11). */
export const graphAlgorithms: readonly Procedure[] = [
  ...rankAlgorithms,
  ...distanceAlgorithms,
  ...componentAlgorithms,
  ...communityAlgorithms,
  ...routeAlgorithms,
  ...treeAlgorithms,
  ...similarityAlgorithms,
  ...densityAlgorithms,
  ...structureAlgorithms,
  ...['fastrp', 'node2vec', 'graphsage', 'hashgnn'].map((name) =>
    reading({
      name: `algo.${name}`,
      description: 'Not supported: vectors that stand for the places of nodes',
      parameters: [{ name: 'config', type: 'MAP', default: null }],
      columns: { node: 'NODE', embedding: 'LIST' },
      rows() {
        throw new DatabaseError('NotSupported', `not supported: algo.${name}`);
      },
    }),
  ),
];
