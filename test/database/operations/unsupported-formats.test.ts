import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { detectFormat } from '#database/importers/detect-format.ts';
import { openTestDatabase } from '../support/open-test-database.ts';

const graphml = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph/></graphml>';

test('GraphML is told from other XML by its root, whatever stands before it', () => {
  for (const head of [
    graphml,
    `\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<!-- a <b> -->\n${graphml}`,
    `<!DOCTYPE graphml [<!ENTITY a "b">]>\n${graphml}`,
    `<g:graphml xmlns:g="x"></g:graphml>`,
    `<!-- ${'x'.repeat(9000)}`,
  ])
    for (const name of ['a.graphml', 'a.xml', 'a', 'a.csv'])
      assert.equal(detectFormat(name, head), 'graphml', head.slice(0, 80));
});

const files: readonly (readonly [name: string, content: string, thing: string])[] = [
  ['a.xml', '<?xml version="1.0"?><people><person name="a"/></people>', 'XML'],
  ['a', '<!DOCTYPE html><html></html>', 'XML'],
  ['a.graphml', '<root/>', 'XML'],
  ['a.rdf', '<?xml version="1.0"?><rdf:RDF xmlns:rdf="x"></rdf:RDF>', 'RDF'],
  ['a.xml', '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', 'RDF'],
  ['a.owl', '<Ontology/>', 'RDF'],
  ['a.ttl', '@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n<#a> foaf:name "A" .', 'RDF'],
  ['a', 'PREFIX foaf: <http://xmlns.com/foaf/0.1/>', 'RDF'],
  ['a.ttl', '# a comment', 'RDF'],
  ['a', '<http://a/b> <http://a/c> "d" .', 'RDF'],
  ['a.nt', '<http://a/b> <http://a/c> "d" .', 'RDF'],
  [
    'a.jsonl',
    '{"type":"node","id":"0","labels":["User"],"properties":{"name":"Adam"}}\n{"type":"relationship","id":"0","label":"KNOWS"}',
    'Neo4j exports',
  ],
  [
    'a.json',
    '{"type":"relationship","id":"0","label":"KNOWS","start":{"id":"0"}}',
    'Neo4j exports',
  ],
  ['a.vec', 'the 0.1 0.2 0.3', 'word vectors'],
];

test('formats that only others read are refused by name, and nothing is made of them', async (context) => {
  const db = await openTestDatabase();
  context.after(() => db.close());
  const directory = join(db.directory, 'files');
  mkdirSync(directory);
  for (const [name, content, thing] of files) {
    const error = { code: 'NotSupported', message: `not supported: import of ${thing}` };
    const path = join(directory, name);
    writeFileSync(path, content);
    writeFileSync(`${path}.gz`, gzipSync(content));
    await assert.rejects(db.run(`IMPORT DATABASE file://${path}`), error, content);
    await assert.rejects(db.run(`IMPORT DATABASE file://${path}.gz`), error, content);
  }
  writeFileSync(join(directory, 'rows.csv'), 'a,b\n1,2\n');
  for (const [format, thing] of [
    ['xml', 'XML'],
    ['RDF', 'RDF'],
    ['neo4j', 'Neo4j exports'],
    ['word2vec', 'word vectors'],
  ])
    for (const setting of ['format', 'verticesFileType'])
      await assert.rejects(
        db.run(`IMPORT DATABASE file://${directory}/rows.csv WITH ${setting} = '${format}'`),
        { code: 'NotSupported', message: `not supported: import of ${thing}` },
      );
  assert.deepEqual(await db.run('SELECT name FROM schema:types'), []);
  // `parallel` is a setting of the reference: one importer reads, whatever it says.
  await db.run(`IMPORT DATABASE file://${directory}/rows.csv WITH parallel = 4`);
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM Document'), [{ n: 1 }]);
});
