import { createHash } from 'node:crypto';
import type { ApiClient } from '../../support/client.js';
import type { FileVersion } from '../history.js';
import type { RetryingClient } from '../retrying-client.js';

const ROOT = '/mnt/user-data';

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** Uploads a file at any gateway, until one answers that it has it. */
export async function uploadFile(
  threadId: string,
  { name, content }: { readonly name: string; readonly content: string },
  client: RetryingClient,
): Promise<void> {
  await client.ask('the upload to be taken', async (api) => {
    const form = new FormData();
    form.append('files', new Blob([content]), name);
    const url = `${rootOf(api)}/threads/${threadId}/uploads`;
    const response = await fetch(url, { method: 'POST', body: form, signal: AbortSignal.timeout(60_000) });
    // An answer that nobody reads stays open until the timeout.
    await response.arrayBuffer();
    const { status } = response;
    if (status !== 200) throw new Error(`answered ${status}`);
    return status;
  });
}

export const rootOf = ({ base }: ApiClient): string => base.replace('/langgraph', '');

export const ROUTES = ['artifacts', 'files/content'] as const;
export type FileRoute = (typeof ROUTES)[number];

/**
 * The bytes of a file of a thread as a gateway serves them; undefined for a 404.
 *
 * @throws {Error} for any other answer than 200, and when the body breaks
 */
export async function fileAt(
  api: ApiClient,
  threadId: string,
  { path, route }: { readonly path: string; readonly route: FileRoute },
): Promise<Buffer | undefined> {
  const url = `${rootOf(api)}/threads/${threadId}/${route}${ROOT}/${path}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status === 404) return undefined;
  if (response.status !== 200)
    throw new Error(`${path}: answered ${response.status}: ${body.toString().slice(0, 200)}`);
  return body;
}

/** The version of a file as a gateway serves it. */
export async function versionAt(
  api: ApiClient,
  threadId: string,
  file: { readonly path: string; readonly route: FileRoute },
): Promise<FileVersion> {
  const content = await fileAt(api, threadId, file);
  return { path: file.path, sha256: content === undefined ? undefined : sha256(content) };
}
