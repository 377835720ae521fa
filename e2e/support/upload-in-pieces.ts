import { once } from 'node:events';
import { request } from 'node:http';

const PIECE = Buffer.alloc(256 * 1024, 0x61);
const BOUNDARY = 'pieces';

export interface SentUpload {
  readonly status: number;
  /** How much of the file went out before the answer or the end of the connection. */
  readonly sentBytes: number;
}

/** Uploads a file that is made while it is sent; stops when the server answers or hangs up. */
export async function uploadInPieces(
  url: string,
  { name, bytes }: { readonly name: string; readonly bytes: number },
): Promise<SentUpload> {
  const sending = request(url, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  let status = 0;
  const answered = new Promise<void>((resolve) => {
    sending.once('response', (answer) => {
      status = answer.statusCode ?? 0;
      answer.resume();
      resolve();
    });
    // A server that refuses may close the connection while the file is still being sent.
    sending.once('error', () => resolve());
    sending.once('close', () => resolve());
  });
  let over = false;
  void answered.then(() => (over = true));
  sending.write(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\n`);
  let sentBytes = 0;
  while (sentBytes < bytes && !over) {
    sentBytes += PIECE.length;
    if (!sending.write(PIECE)) await Promise.race([once(sending, 'drain').catch(() => undefined), answered]);
  }
  if (!over) sending.end(`\r\n--${BOUNDARY}--\r\n`);
  await answered;
  sending.destroy();
  return { status, sentBytes };
}
