import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { KubernetesObject } from './objects.ts';

/*
 * The API server over one `kubectl proxy` for the whole run: for what has to be seen the moment it happens, where one program
 * per question would be too slow.
 */

export interface WatchedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
}

export class ApiServer {
  readonly #child: ChildProcess;
  readonly #root: string;

  private constructor(child: ChildProcess, root: string) {
    this.#child = child;
    this.#root = root;
  }

  /** @throws Error when kubectl ends before it listens */
  static async start(): Promise<ApiServer> {
    const child = spawn('kubectl', ['proxy', '--port=0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const root = await new Promise<string>((found, failed) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const address = /127\.0\.0\.1:\d+/.exec(line)?.[0];
        if (address !== undefined) found(`http://${address}`);
      });
      child.once('error', failed);
      child.once('exit', () => failed(new Error('kubectl proxy ended')));
    });
    return new ApiServer(child, root);
  }

  close(): void {
    this.#child.kill();
  }

  /** @returns undefined when it answers anything but 200 */
  async text(path: string): Promise<string | undefined> {
    try {
      const answer = await fetch(this.#root + path, { signal: AbortSignal.timeout(10_000) });
      const body = await answer.text();
      return answer.status === 200 ? body : undefined;
    } catch {
      return undefined;
    }
  }

  /** A merge patch. @throws Error when it is refused */
  async patch(path: string, change: object): Promise<void> {
    const answer = await fetch(this.#root + path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify(change),
      signal: AbortSignal.timeout(10_000),
    });
    const body = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body.slice(0, 300)}`);
  }

  /**
   * Tells every change of a resource until `signal` ends it; begins with what is there as ADDED. `onBegin` hears of each
   * connection: what went between two of them is not told.
   */
  async watch(
    path: string,
    {
      onBegin,
      onChange,
      signal,
    }: {
      readonly onBegin: () => void;
      readonly onChange: (change: WatchedChange) => void;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    while (!signal.aborted) {
      try {
        onBegin();
        const answer = await fetch(`${this.#root}${path}?watch=true`, { signal });
        let text = '';
        for await (const chunk of answer.body ?? []) {
          text += Buffer.from(chunk as Uint8Array).toString('utf8');
          const lines = text.split('\n');
          text = lines.pop() ?? '';
          for (const line of lines) tell(line, onChange);
        }
      } catch {
        // Ended by us, or a connection that broke: begun anew.
      }
      await new Promise((over) => setTimeout(over, 200));
    }
  }
}

function tell(line: string, onChange: (change: WatchedChange) => void): void {
  if (line === '') return;
  const change = JSON.parse(line) as WatchedChange & { readonly type: string };
  if (change.type === 'ADDED' || change.type === 'MODIFIED' || change.type === 'DELETED')
    onChange(change);
}
