import { deadlineSignal } from '@caribou/core';

/** A user's requests to one gateway. */
export interface Client {
  /** The answer's status and body; never rejects for a status. */
  ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

const TIMEOUT_MS = 60_000;

/** @param key the user's API key; a body that is a string or a form is sent unchanged */
export function clientOf(apiUrl: string, key: string): Client {
  return {
    async ask(method, path, body, signal) {
      const isJson = !(body instanceof FormData) && body !== undefined;
      const response = await fetch(`${apiUrl}${path}`, {
        method,
        headers: { 'x-api-key': key, ...(isJson ? { 'content-type': 'application/json' } : {}) },
        ...(body === undefined
          ? {}
          : { body: isJson && typeof body !== 'string' ? JSON.stringify(body) : (body as string) }),
        signal: AbortSignal.any([deadlineSignal(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]),
      });
      return { status: response.status, text: await response.text() };
    },
  };
}

/** The id of a new thread. @throws Error when none is made */
export async function newThread(client: Client): Promise<string> {
  const { status, text } = await client.ask('POST', '/threads', {});
  if (status !== 200) throw new Error(`creating a thread failed: ${status} ${text.slice(0, 200)}`);
  return (JSON.parse(text) as { thread_id: string }).thread_id;
}
