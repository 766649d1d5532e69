import type { LocalCluster, ServerStatus } from './local-cluster.ts';

/** What `npm run cluster -- ...` may say to a cluster that runs. */
export const usage = `  npm run cluster -- --nodes 3        starts three servers and stays until Ctrl-C
  npm run cluster -- status
  npm run cluster -- kill leader      or a number: SIGKILL
  npm run cluster -- restart 1        starts a server that is down
  npm run cluster -- pause 1          and resume 1
  npm run cluster -- cut 0 2          nothing gets through between the two
  npm run cluster -- heal
  npm run cluster -- add              one more server
  npm run cluster -- remove 3         takes it out of the cluster
  npm run cluster -- stop             ends all`;

/** Carries a command out. @returns what the person is told; throws Error with a text for them */
export async function runCommand(cluster: LocalCluster, words: readonly string[]): Promise<string> {
  const [verb = '', ...rest] = words;
  switch (verb) {
    case 'status':
      return table(await cluster.status());
    case 'kill': {
      const server = await named(cluster, rest[0]);
      await server.kill();
      return `server ${server.place} is killed`;
    }
    case 'restart': {
      const place = placeOf(rest[0]);
      await cluster.restart(place);
      return `server ${place} runs`;
    }
    case 'pause': {
      const server = await named(cluster, rest[0]);
      if (!server.isRunning) throw new Error(`server ${server.place} is down`);
      server.pause();
      return `server ${server.place} is paused; resume ${server.place} lets it go on`;
    }
    case 'resume': {
      const server = cluster.server(placeOf(rest[0]));
      server.resume();
      return `server ${server.place} goes on`;
    }
    case 'cut': {
      const [one, other] = [placeOf(rest[0]), placeOf(rest[1])];
      cluster.cut(cluster.server(one).place, cluster.server(other).place);
      return `nothing gets through between ${one} and ${other}; heal ends that`;
    }
    case 'heal':
      cluster.heal();
      return 'all is connected';
    case 'add': {
      const server = await cluster.add();
      return `server ${server.place} joined: http://127.0.0.1:${server.httpPort}`;
    }
    case 'remove': {
      const place = placeOf(rest[0]);
      await cluster.remove(place);
      return `server ${place} is removed and stopped`;
    }
    default:
      throw new Error(`unknown command '${verb}'; use\n${usage}`);
  }
}

function placeOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,3}$/.test(text)) throw new Error('name a server by its number');
  return Number(text);
}

function named(cluster: LocalCluster, text: string | undefined) {
  return text === 'leader' ? cluster.leader(5000) : cluster.server(placeOf(text));
}

export function table(statuses: readonly ServerStatus[]): string {
  const rows = statuses.map(({ place, address, state, role, term, commitIndex, appliedIndex }) =>
    [place, address, state, role, term ?? '-', commitIndex ?? '-', appliedIndex ?? '-'].map(String),
  );
  const all = [['server', 'address', 'state', 'role', 'term', 'commit', 'applied'], ...rows];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
