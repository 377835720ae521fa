import type { SafeFetch } from '@caribou/core';
import { Agent, fetch, type RequestInit as RawInit } from 'undici';

/**
 * The platform's `fetch` for hosts that the operator named himself, which may be anywhere: it waits up to `silenceMs` for
 * headers and for the next piece of a body, where the platform gives up after five minutes.
 */
export function longTimeoutFetch(silenceMs: number): SafeFetch {
  const dispatcher = new Agent({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
  return async (url, init = {}) => {
    const { headers, ...rest } = init;
    const request = { ...rest, headers: [...new Headers(headers)], dispatcher } as RawInit;
    return (await fetch(url, request)) as unknown as Response;
  };
}
