import { createHash } from 'node:crypto';
import { crc32, deflateRawSync } from 'node:zlib';

/** Of an archive that no library would write. */
export interface Entry {
  readonly name: string;
  readonly content: Uint8Array;
  /** Unix mode. */
  readonly mode?: number;
  readonly checksum?: number;
  /** What the headers say instead of the truth. */
  readonly claimedSize?: number;
}

/** A ZIP archive, byte by byte, so that it can say what no library would write. */
export function zip(entries: readonly Entry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644, checksum, claimedSize } of entries) {
    const packed = deflateRawSync(content);
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(checksum ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? content.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([
      Buffer.from('PK\u0003\u0004', 'latin1'),
      common,
      nameBytes,
      packed,
    ]);
    const central = Buffer.alloc(16);
    central.writeUInt32LE((mode << 16) >>> 0, 8);
    central.writeUInt32LE(offset, 12);
    const version = Buffer.from([20, 3]);
    directory.push(
      Buffer.concat([
        Buffer.from('PK\u0001\u0002', 'latin1'),
        version,
        common,
        central.subarray(2),
        nameBytes,
      ]),
    );
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

/** Of a backup of `test` that holds this environment. */
export function manifest(data: Uint8Array, changes: object = {}): Entry {
  const sha256 = createHash('sha256').update(data).digest('hex');
  const files = [{ name: 'data.mdb', size: data.length, sha256 }];
  const about = {
    format: 'service-backup',
    version: 1,
    database: 'test',
    createdAt: 1,
    lastTxId: 1,
  };
  const content = JSON.stringify({ ...about, engine: 'lmdb', files, ...changes });
  return { name: 'manifest.json', content: Buffer.from(content) };
}
