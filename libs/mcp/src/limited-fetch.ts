/** The part of `fetch` that requests to servers need. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Limit of one answer, or of one event of a stream, which is buffered in memory until it is complete. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Wraps `fetch` so that reading an answer above the limit fails. */
export const limitFetch =
  (fetch: Fetch, maxBytes = MAX_BYTES): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
    const body = response.body.pipeThrough(limitBody(maxBytes, isStream));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };

/** Limits the bytes of the body, or for event streams the bytes since the end of the last event. */
function limitBody(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? endOfEvent(chunk) : -1;
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end;
      if (bytes > maxBytes)
        controller.error(new RangeError(`the server sent more than ${maxBytes} bytes in one piece`));
      else controller.enqueue(chunk);
    },
  });
}

/** Offset of the last empty line of the chunk, or -1; an empty line that is split between chunks is not found. */
function endOfEvent(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'), bytes.lastIndexOf('\r\r'));
}
