import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks for a password on the terminal, without showing it; asks again until two entries agree. */
export async function promptPassword(question: string): Promise<string> {
  let isHidden = false;
  const output = new Writable({
    write(piece, _encoding, done) {
      if (!isHidden) process.stdout.write(piece);
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  const ask = async (text: string) => {
    isHidden = false;
    output.write(text);
    isHidden = true;
    const answer = await terminal.question('');
    process.stdout.write('\n');
    return answer;
  };
  try {
    for (;;) {
      const first = await ask(question);
      if (first === '' || (await ask('Again: ')) === first) return first;
      process.stdout.write('The two differ.\n');
    }
  } finally {
    terminal.close();
  }
}
