/** Plain HTTP and SSE for the recorder; nothing of a LangGraph client, so the frames are as sent. */

export async function createThread(peer) {
  const { body } = await postJson(`${peer}/threads`, { metadata: {} });
  return body.thread_id;
}

export async function getJson(url) {
  return exchange(url, { method: 'GET' });
}

/** An undefined body is sent as no body at all. */
export async function postJson(url, body) {
  return exchange(url, { method: 'POST', ...(body !== undefined && withBody(JSON.stringify(body))) });
}

export function withBody(text) {
  return { headers: { 'content-type': 'application/json' }, body: text };
}

/** Status, shown headers and the body, parsed when it is JSON and else as text. */
export async function exchange(url, init) {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json') && text.trim() !== '';
  return { status: response.status, headers: shownHeaders(response), body: isJson ? JSON.parse(text) : text };
}

/** The headers that a client of this protocol reads. */
export function shownHeaders(response) {
  const names = [
    'content-type',
    'content-location',
    'location',
    'cache-control',
    'x-accel-buffering',
    'connection',
    'x-pagination-total',
  ];
  return Object.fromEntries(
    names.filter((name) => response.headers.has(name)).map((name) => [name, response.headers.get(name)]),
  );
}

/** The frames of an SSE body in order; comment lines come as `{comment}`. */
export async function readFrames(response) {
  const text = await response.text();
  return text
    .split(/\r?\n\r?\n/)
    .filter((block) => block.trim() !== '')
    .map(readFrame);
}

function readFrame(block) {
  const frame = {};
  for (const line of block.split(/\r?\n/)) {
    const [, field = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    if (field === '') frame.comment = value;
    else if (field === 'data') frame.data = JSON.parse(value);
    else frame[field] = value;
  }
  return frame;
}
