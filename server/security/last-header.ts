/**
 * The Basic header that a connection sent last, with its digest: clients send the same one with each request, and a digest
 * costs as much as the statement of a short request. Whether it is accepted is looked up each time.
 */
export class LastHeader {
  header: string | undefined;
  digest = '';

  set(header: string, digest: string): void {
    this.header = header;
    this.digest = digest;
  }
}
