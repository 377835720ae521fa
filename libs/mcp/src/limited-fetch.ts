/** How servers are asked; `fetch` as the platform has it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Of one answer, or of one event of a stream: it is held in memory until it is whole. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Answers that grow past the bound fail while they are read. */
export const limitedFetch =
  (fetch: Fetch, maxBytes = MAX_BYTES): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
    const body = response.body.pipeThrough(bounded(maxBytes, isStream));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };

/** Passes bytes on as long as there are not too many of them, of a stream since the last end of an event. */
function bounded(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
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

/** Behind the last empty line of the chunk; -1 without one. One that two chunks share counts as none. */
function endOfEvent(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'), bytes.lastIndexOf('\r\r'));
}
