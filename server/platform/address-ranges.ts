import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

// Which addresses a server may be made to fetch from (security.md 8.1): whoever names a URL must not reach through the server
// what he cannot reach himself.

/** Loopback, private, link-local, shared, benchmarking, multicast and reserved ranges. */
const blockedRanges: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  'fe80::/10',
  'fc00::/7',
  'ff00::/8',
];

const blocked = rangesOf(blockedRanges);

/**
 * Address ranges from texts such as `10.0.0.0/8`, `fd00::/8` or a single address.
 * @throws RangeError naming the text that is none
 */
export function rangesOf(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits, ...more] = text.trim().split('/');
    const family = isIP(address);
    const width = family === 4 ? 32 : 128;
    const length = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (family === 0 || more.length > 0 || length < 0 || length > width)
      throw new RangeError(`'${text}' is no address range`);
    list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Whether the address, or an IPv4 address that it stands for, lies in a range that is not public, and in none of `allowed`. */
export function isBlockedAddress(address: string, allowed: BlockList): boolean {
  if (isListed(allowed, address)) return false;
  if (isListed(blocked, address)) return true;
  if (!isIPv6(address)) return !isIPv4(address);
  const embedded = embeddedAddresses(address);
  return embedded.some((inner) => isListed(blocked, inner) && !isListed(allowed, inner));
}

function isListed(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** The IPv4 addresses in an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo (whose client is inverted). */
function embeddedAddresses(address: string): readonly string[] {
  const groups = groupsOf(address);
  const at = (first: number): string => dotted(groups[first] ?? 0, groups[first + 1] ?? 0);
  const isZero = (from: number, to: number): boolean =>
    groups.slice(from, to).every((group) => group === 0);
  const found: string[] = [];
  if (isZero(0, 5) && (groups[5] === 0xffff || groups[5] === 0)) found.push(at(6));
  if (isZero(0, 4) && groups[4] === 0xffff && groups[5] === 0) found.push(at(6));
  if (groups[0] === 0x64 && groups[1] === 0xff9b) found.push(at(6));
  if (groups[0] === 0x2002) found.push(at(1));
  if (groups[0] === 0x2001 && groups[1] === 0) {
    found.push(at(2), dotted((groups[6] ?? 0) ^ 0xffff, (groups[7] ?? 0) ^ 0xffff));
  }
  return found;
}

function dotted(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** The eight groups of a valid IPv6 address; a zone is left out. */
function groupsOf(address: string): readonly number[] {
  const plain = address.split('%')[0] ?? '';
  const tail = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain);
  const text =
    tail === null
      ? plain
      : `${tail[1]}${hex(Number(tail[2]), Number(tail[3]))}:${hex(Number(tail[4]), Number(tail[5]))}`;
  const [left = '', right] = text.split('::');
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const head = parse(left);
  if (right === undefined) return head;
  const end = parse(right);
  return [...head, ...new Array<number>(8 - head.length - end.length).fill(0), ...end];
}

function hex(high: number, low: number): string {
  return (high * 256 + low).toString(16);
}
