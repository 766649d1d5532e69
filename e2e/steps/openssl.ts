import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { must } from './programs.ts';

/** PEM texts, as in a Secret of Kubernetes. */
export interface CertificateFiles {
  readonly 'ca.crt': string;
  readonly 'tls.crt': string;
  readonly 'tls.key': string;
}

export interface CertificateWish {
  readonly dnsNames: readonly string[];
  /** As OpenSSL calls them. */
  readonly usages: readonly string[];
}

const configuration = '[req]\ndistinguished_name = name\n[name]\n';
const newKey = ['-newkey', 'rsa:2048', '-nodes'];

/** An authority as a user of the product has one: made by OpenSSL, in a folder that goes with it. */
export class Authority {
  readonly #folder = mkdtempSync(join(tmpdir(), 'polyad-e2e-authority-'));

  static async make(): Promise<Authority> {
    const made = new Authority();
    writeFileSync(made.#at('openssl.cnf'), configuration);
    const extensions = ['-addext', 'basicConstraints=critical,CA:TRUE'];
    await made.#request('ca', [...newKey, ...extensions]);
    return made;
  }

  async issue({ dnsNames, usages }: CertificateWish): Promise<CertificateFiles> {
    const names = dnsNames.map((name) => `DNS:${name}`).join(',');
    await this.#request('tls', [
      ...newKey,
      ...['-CA', this.#at('ca.crt'), '-CAkey', this.#at('ca.key')],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ...['-addext', `subjectAltName=${names}`],
      ...['-addext', `extendedKeyUsage=${usages.join(',')}`],
    ]);
    const read = (file: string): string => readFileSync(this.#at(file), 'utf8');
    return { 'ca.crt': read('ca.crt'), 'tls.crt': read('tls.crt'), 'tls.key': read('tls.key') };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #request(name: string, words: readonly string[]): Promise<void> {
    const files = ['-keyout', this.#at(`${name}.key`), '-out', this.#at(`${name}.crt`)];
    const rest = ['-config', this.#at('openssl.cnf'), '-subj', `/CN=${name}`, '-days', '2'];
    await must('openssl', ['req', '-x509', ...files, ...rest, ...words]);
  }

  #at(file: string): string {
    return join(this.#folder, file);
  }
}

/** A key in PKCS#8 as PKCS#1, with the label that goes with it. */
export function asPkcs1(key: string): Promise<string> {
  return must('openssl', ['pkey', '-traditional'], key);
}
