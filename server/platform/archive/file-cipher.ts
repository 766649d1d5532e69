import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

// Encrypted archives: 16 bytes of salt, 16 bytes of initialisation vector, then AES-256 in counter mode under the key that
// PBKDF2-HMAC-SHA256 makes of the passphrase (http-api.md 18.3). Counter mode does not notice changes; the digests in the
// manifest of the archive do.

const saltBytes = 16;
const vectorBytes = 16;
const iterations = 65_536;
const keyBytes = 32;
const algorithm = 'aes-256-ctr';
const derive = promisify(pbkdf2);

interface CipherJob {
  readonly from: string;
  /** Must not exist. */
  readonly to: string;
  readonly passphrase: string;
  readonly signal: AbortSignal;
}

/** Encrypts a file; the result is on the disk when this resolves. */
export async function encryptFile({ from, to, passphrase, signal }: CipherJob): Promise<void> {
  const salt = randomBytes(saltBytes);
  const vector = randomBytes(vectorBytes);
  const key = await derive(passphrase, salt, iterations, keyBytes, 'sha256');
  const output = createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true });
  output.write(Buffer.concat([salt, vector]));
  await pipeline(createReadStream(from), createCipheriv(algorithm, key, vector), output, {
    signal,
  });
}

/** Decrypts a file that `encryptFile` made; a wrong passphrase gives other bytes. */
export async function decryptFile({ from, to, passphrase, signal }: CipherJob): Promise<void> {
  const head = Buffer.alloc(saltBytes + vectorBytes);
  const input = await open(from, 'r');
  try {
    await input.read(head, 0, head.length, 0);
  } finally {
    await input.close();
  }
  const salt = head.subarray(0, saltBytes);
  const key = await derive(passphrase, salt, iterations, keyBytes, 'sha256');
  const decipher = createDecipheriv(algorithm, key, head.subarray(saltBytes));
  const source = createReadStream(from, { start: head.length });
  await pipeline(source, decipher, createWriteStream(to, { flags: 'wx', mode: 0o600 }), { signal });
}
