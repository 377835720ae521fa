import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { TooLargeError } from '@caribou/contracts';
import { z } from 'zod';
import { errnoOf, type TreeNode } from '@caribou/core';
import { sha256Of } from '../../file-hash.js';
import { requireNodeLimit } from '../tree/tree-nodes.js';
import { type NodeRow, nodeOfRow, ObjectList, rowOf } from './node-rows.js';
import { type Damage, damaged } from './stored-damage.js';

/**
 * A manifest: all nodes of a tree (a *base*), or what differs from one (a *delta*, which has the key of its base). One line of
 * JSON says what it is, with the checksum of the body that follows; the body is JSON, deflated above a size.
 */
export interface Manifest {
  /** Key of the base that this is a delta of; absent for a base. */
  readonly base?: string;
  readonly nodes: ReadonlyMap<string, TreeNode>;
  /** Paths of the base that are gone. */
  readonly removed: ReadonlySet<string>;
}

const VERSION = 1;
/** Bytes of a body from which on it is deflated. */
const DEFLATED_FROM = 16 * 1024;
/** A fast level: keys and checksums, most of the bytes, do not become smaller at any. */
const DEFLATE_LEVEL = 1;
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const MAX_HEAD_BYTES = 4_096;
const NEWLINE = 0x0a;

const Head = z.object({
  format: z.literal('caribou-tree'),
  version: z.number().int(),
  base: z.string().optional(),
  deflated: z.boolean(),
  /** Bytes of the body before it is deflated. */
  bytes: z.number().int().min(0).max(MAX_BODY_BYTES),
  /** Of the body before it is deflated. */
  sha256: z.string(),
});
type Head = z.infer<typeof Head>;

interface Body {
  readonly objects: readonly string[];
  readonly nodes: readonly NodeRow[];
  readonly removed: readonly string[];
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** @throws {TooLargeError} for more nodes, or longer paths, than a thread may have */
export async function encodeManifest({ base, nodes, removed }: Manifest): Promise<Buffer> {
  requireNodeLimit(nodes.size);
  const objects = new ObjectList();
  const rows = Array.from(nodes, ([path, node]) => rowOf(path, node, objects));
  const body: Body = { objects: objects.keys, nodes: rows, removed: [...removed] };
  const bytes = Buffer.from(JSON.stringify(body));
  if (bytes.byteLength > MAX_BODY_BYTES) {
    throw new TooLargeError(`the names of a thread's files take more than ${MAX_BODY_BYTES} bytes`, {
      details: { limitBytes: MAX_BODY_BYTES },
    });
  }
  const deflated = bytes.byteLength >= DEFLATED_FROM;
  const head: Head = {
    format: 'caribou-tree',
    version: VERSION,
    ...(base === undefined ? {} : { base }),
    deflated,
    bytes: bytes.byteLength,
    sha256: sha256Of(bytes),
  };
  const stored = deflated ? await deflate(bytes, { level: DEFLATE_LEVEL }) : bytes;
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), stored]);
}

/** @throws {UnavailableError} for a manifest that is damaged, or of a later version */
export async function decodeManifest(key: string, stored: Buffer): Promise<Manifest> {
  const refuse = (reason: Damage, cause?: unknown): never => {
    throw damaged('a list of files', key, reason, cause);
  };
  const end = stored.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE);
  const head = Head.safeParse(end < 0 ? undefined : jsonOf(stored.subarray(0, end)));
  if (!head.success) return refuse('altered', head.error);
  const { version, base, deflated, bytes, sha256 } = head.data;
  if (version !== VERSION) return refuse('unknown_version');
  const body = deflated ? await inflated(stored.subarray(end + 1), bytes) : stored.subarray(end + 1);
  if (body === undefined || body.byteLength !== bytes || sha256Of(body) !== sha256) return refuse('altered');
  const { objects, nodes: rows, removed } = jsonOf(body) as Body;
  const nodes = new Map<string, TreeNode>();
  for (const row of rows) nodes.set(row[0], nodeOfRow(row, objects) ?? refuse('altered'));
  return { ...(base === undefined ? {} : { base }), nodes, removed: new Set(removed) };
}

async function inflated(stored: Buffer, bytes: number): Promise<Buffer | undefined> {
  try {
    return await inflate(stored, { maxOutputLength: Math.max(bytes, 1) });
  } catch (error) {
    // Every error of zlib has a code.
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
