import { ApiError, request } from '../../../../api/request.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';

/** The beginning of a file, or all of it. */
export interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes of the whole file; undefined when the server did not say. */
  readonly total: number | undefined;
  readonly isWhole: boolean;
  /** The SHA-256 of a file of at most 2 MiB, by which an edit names what it replaces. */
  readonly sha256: string | undefined;
}

const MEDIA_TIMEOUT_MS = 300_000;

/** Reads at most so many bytes of a file. */
export async function readStart(path: string, maxBytes: number, signal?: AbortSignal): Promise<FileContent> {
  const answer = await rangeOf(path, maxBytes, signal);
  if (answer === undefined) return { bytes: new Uint8Array(), total: 0, isWhole: true, sha256: undefined };
  const total = totalOf(answer);
  const bytes = await readBounded(answer, maxBytes);
  return { bytes, total, isWhole: total === undefined || bytes.length >= total, sha256: hashOf(answer) };
}

/** Undefined for an empty file, which has no first byte. */
async function rangeOf(path: string, maxBytes: number, signal?: AbortSignal): Promise<Response | undefined> {
  try {
    return await request(path, {
      headers: { range: `bytes=0-${maxBytes - 1}` },
      timeoutMs: MEDIA_TIMEOUT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof ApiError && error.status === 416) return undefined;
    throw error;
  }
}

/** Reads a whole file of a bounded size. @throws {Error} when it is larger */
export async function readWhole(path: string, maxBytes: number, signal?: AbortSignal): Promise<FileContent> {
  const content = await readStart(path, maxBytes, signal);
  if (content.isWhole) return content;
  throw new Error(texts.tooLargeToShow(formatBytes(content.total ?? maxBytes), formatBytes(maxBytes)));
}

/** The size of the whole file: behind the slash of `Content-Range`, or the length of an answer with all of it. */
function totalOf({ status, headers }: Pick<Response, 'status' | 'headers'>): number | undefined {
  const text = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  return text !== null && text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

const hashOf = ({ headers }: Response): string | undefined =>
  /^(?:W\/)?"([0-9a-f]{64})"$/.exec(headers.get('etag') ?? '')?.[1];

async function readBounded({ body }: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  while (size < maxBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value.subarray(0, maxBytes - size));
    size += Math.min(value.length, maxBytes - size);
  }
  await reader.cancel();
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
