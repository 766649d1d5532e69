/**
 * The header that a connection sent last, and what it is looked up by: the digest of Basic credentials, or a token. Clients send the
 * same one with each request, and a digest costs as much as the statement of a short request, taking a token out of its header a
 * tenth of that. Whether it is accepted is looked up each time.
 */
export class LastHeader {
  header: string | undefined;
  kind: 'basic' | 'bearer' = 'basic';
  key = '';

  set(header: string, kind: 'basic' | 'bearer', key: string): void {
    this.header = header;
    this.kind = kind;
    this.key = key;
  }
}
