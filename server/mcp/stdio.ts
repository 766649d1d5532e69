import type { Readable, Writable } from 'node:stream';
import { serverHttpBodyContentMaxSize, serverHttpJsonMaxDepth } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { parseJsonInSlices } from '#core/value/json-slices.ts';
import { messageOf } from '#http/answer/errors.ts';
import type { Principal } from '#core/principal.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { errorText, rpcCode } from './protocol/json-rpc.ts';
import { bytesOf, type Json } from './protocol/long-json.ts';
import { McpServer } from './server.ts';
import type { ToolSurroundings } from './tools/tool.ts';

const lineFeed = 10;
const root: Principal = { name: 'root', isRoot: true, via: 'stdio' };

/**
 * The protocol over standard input and output (contract 2, Stdio transport; mcp.md 8): one message or batch a line, answered one
 * after the other; a line without an answer gives no output line.
 */
export class StdioTransport {
  readonly #server: McpServer;
  readonly #surroundings: Omit<ToolSurroundings, 'turns'>;
  readonly #output: Writable;
  readonly #never = new AbortController();
  #requests = 0;

  constructor(surroundings: Omit<ToolSurroundings, 'turns'>, output: Writable) {
    this.#server = new McpServer(surroundings);
    this.#surroundings = surroundings;
    this.#output = output;
  }

  /** Resolves at the end of the input, when everything is answered. */
  async run(input: Readable): Promise<void> {
    const bytesMax = this.#surroundings.settings.get(serverHttpBodyContentMaxSize);
    let pieces: Buffer[] = [];
    let length = 0;
    for await (const chunk of input) {
      let rest = Buffer.from(chunk as Uint8Array);
      for (let end = rest.indexOf(lineFeed); end >= 0; end = rest.indexOf(lineFeed)) {
        await this.#take([...pieces, rest.subarray(0, end)], length + end, bytesMax);
        pieces = [];
        length = 0;
        rest = rest.subarray(end + 1);
      }
      length += rest.length;
      // What is beyond the bound is counted, not kept.
      if (length <= bytesMax || bytesMax <= 0) pieces.push(rest);
      else pieces = [];
    }
    if (length > 0) await this.#take(pieces, length, bytesMax);
  }

  async #take(pieces: readonly Buffer[], length: number, bytesMax: number): Promise<void> {
    if (bytesMax > 0 && length > bytesMax) {
      const message = `Invalid Request: the line is longer than ${serverHttpBodyContentMaxSize.key}, ${bytesMax} bytes`;
      await this.#write(errorText('null', rpcCode.invalidRequest, message));
      return;
    }
    const line = Buffer.concat(pieces);
    if (/^\s*$/.test(line.toString('latin1', 0, Math.min(length, 1000))) && length < 1000) return;
    const answer = await this.#answer(line);
    if (answer !== undefined) await this.#write(answer);
  }

  async #answer(line: Uint8Array): Promise<Json | undefined> {
    const { settings, runtime } = this.#surroundings;
    const limits = { depthMax: settings.get(serverHttpJsonMaxDepth) };
    this.#requests += 1;
    try {
      const message = await parseJsonInSlices(line, limits, new SliceTimer(runtime));
      const { text } = await this.#server.answer(message, {
        principal: root,
        requestId: `stdio-${this.#requests}`,
        signal: this.#never.signal,
      });
      return text;
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      return errorText('null', rpcCode.parse, `Parse error: ${messageOf(error)}`);
    }
  }

  async #write(json: Json): Promise<void> {
    if (typeof json === 'string') return this.#send(`${json}\n`);
    const slices = new SliceTimer(this.#surroundings.runtime);
    for await (const piece of bytesOf(json, slices)) await this.#send(piece);
    await this.#send('\n');
  }

  async #send(piece: string | Uint8Array): Promise<void> {
    if (this.#output.write(piece)) return;
    await new Promise<void>((resolve) => this.#output.once('drain', resolve));
  }
}
