import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** The namespace with which LangGraph derives assistant ids from graph names (RFC 4122, appendix C: OID). */
const NAMESPACE = Buffer.from('6ba7b8219dad11d180b400c04fd430c8', 'hex');

/** A cache, because every delta of a message needs the id of the same node. */
const known = new LRUCache<string, string>({ max: 5_000 });

/** A UUID (version 5) that is the same for the same name, in every process and at every replay. */
export function stableId(name: string): string {
  const cached = known.get(name);
  if (cached !== undefined) return cached;
  const id = uuidOf(name);
  known.set(name, id);
  return id;
}

function uuidOf(name: string): string {
  const bytes = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(name)]), 'buffer').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
