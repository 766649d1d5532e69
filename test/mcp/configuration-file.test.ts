import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigurationFile } from '#mcp/policy/configuration-file.ts';
import type { Ground } from '#plan/ground.ts';
import { openTools } from '#plan/tools.ts';

// The file of the tool server's configuration (mcp.md 2.1): made with the defaults, replaced as a whole, for nobody else to read;
// one that cannot be read disables the tool server, and an event tells why.

test('the file is replaced as a whole, and what it says holds after a restart', async (context) => {
  const { directory, path, load } = inDirectory(context);
  const { problem, file } = await load();
  assert.deepEqual([problem, file.current.enabled], [undefined, false]);
  const made = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>;
  assert.deepEqual([made['enabled'], made['allowReads'], made['profile']], [false, true, 'all']);
  await Promise.all([
    file.update(new Map([['enabled', true]])),
    file.update(new Map([['allowInsert', true]])),
  ]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['mcp-config.json'], 'nothing is left beside it');
  const { enabled, allowInsert } = (await load()).file.current;
  assert.deepEqual([enabled, allowInsert], [true, true], 'neither change undid the other');
});

test('a broken file disables the tool server, and an event says what is wrong', async (context) => {
  const { directory, path, load } = inDirectory(context);
  for (const text of ['', '{"enabled":true', '[]', '{"enabled":"yes"}', '{"enabled":true,"x":1}']) {
    writeFileSync(path, text);
    const { problem, file } = await load();
    assert.match(problem ?? '', /mcp-config\.json: .*; the tool server is disabled$/, text);
    assert.equal(file.current.enabled, false, text);
    const reported: (readonly string[])[] = [];
    const events = { report: (...event: string[]) => void reported.push(event) };
    const ground = { paths: { config: directory }, events } as unknown as Ground;
    const tools = await openTools(ground, false);
    assert.equal(tools?.configuration.current.enabled, false, text);
    assert.deepEqual(reported, [['CRITICAL', 'Server', problem]], text);
    assert.equal(readFileSync(path, 'utf8'), text, 'it stays for whoever looks at it');
  }
});

function inDirectory(context: { after: (end: () => void) => void }) {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-mcp-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const load = async () => {
    const file = new ConfigurationFile(directory, { isAlwaysEnabled: false });
    return { problem: await file.load(), file };
  };
  return { directory, path: join(directory, 'mcp-config.json'), load };
}
