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
  const hex = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(name)]), 'hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
