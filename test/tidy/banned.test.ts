import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from './source-tree.ts';

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  readonly allowedIn: readonly RegExp[];
  readonly why: string;
}

// Read as: this may not be written, except there, because.
const bans: readonly Ban[] = [
  {
    what: 'real time, timers and randomness',
    pattern:
      /\b(Date\.now|new Date\(\)|(?<!\.)setTimeout|setInterval|setImmediate|Math\.random|performance\.|process\.hrtime|randomUUID|randomBytes)\b/,
    allowedIn: [
      /^server\/platform\//,
      /^operator\/kubernetes\/system-runtime\.ts$/,
      // Short commands of pods, in which there is nothing to simulate.
      /^operator\/pod\//,
    ],
    why: 'they come in through Runtime, so that a cluster can be simulated',
  },
  {
    what: 'console output',
    pattern: /\bconsole\./,
    allowedIn: [/^server\/(main|plan\/[a-z-]+|container)\.ts$/, /^operator\/main\.ts$/],
    why: 'the log is an interface',
  },
  {
    what: 'code made from text',
    pattern: /\beval\(|new Function\(/,
    allowedIn: [
      /^server\/query\/evaluate\/generated\/generate[^/]*\.ts$/,
      /^server\/storage\/row-reader[^/]*\.ts$/,
    ],
    why: 'generation lives in one place and takes only plan nodes (house decision 33)',
  },
  {
    what: 'any, or an assertion that something is not null',
    pattern: /(:\s*any\b|<any>|\bas any\b|@ts-ignore|@ts-nocheck)/,
    allowedIn: [],
    why: 'types are the first test',
  },
  {
    what: 'a default export',
    pattern: /^export default\b/,
    allowedIn: [],
    why: 'a name has one address',
  },
  {
    what: 'a native regular expression made from data',
    pattern: /new RegExp\((?!['"`/])/,
    allowedIn: [/^server\/core\/pattern\.ts$/],
    why: 'patterns of users run on the linear-time engine only',
  },
  {
    what: 'process exit',
    pattern: /process\.exit\(/,
    allowedIn: [/^server\/(main|plan\/[a-z-]+|container|cli\/cli)\.ts$/, /^operator\/main\.ts$/],
    why: "stopping is the composition root's decision",
  },
  {
    what: 'a test that is switched off or narrowed',
    pattern: /\b(test|it|describe)\.(only|todo)\(|\bonly: true/,
    allowedIn: [],
    why: 'a test that does not run proves nothing',
  },
];

const files = sourceFiles('server', 'operator');

for (const ban of bans) {
  test(`no ${ban.what}`, () => {
    const found: string[] = [];
    for (const file of files) {
      if (ban.allowedIn.some((pattern) => pattern.test(file.path))) continue;
      file.lines.forEach((line, at) => {
        const code = line.replace(/^\s*(\*|\/\/|\/\*).*$/, '').replace(/\/\/ .*$/, '');
        if (ban.pattern.test(code))
          found.push(`${file.path}:${at + 1} ${line.trim().slice(0, 90)}`);
      });
    }
    assert.deepEqual(found, [], ban.why);
  });
}
