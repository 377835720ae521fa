const loopbackHost = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether a Host header names this machine itself: a page that resolves its own name to loopback does not. */
export const isLoopbackHost = (host: string | undefined): boolean => host !== undefined && loopbackHost.test(host);

const plainHost = /^([a-z0-9_-]+|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d+)?$/i;

/** Whether a Host header is an address or a name without dots: nothing a public DNS name can be pointed with. */
export const isPlainHost = (host: string | undefined): boolean => host !== undefined && plainHost.test(host);

/** Which pages may call: the listed origins; none listed, any http(s) origin on localhost and 127.0.0.1. */
export function originRule(allowed: readonly string[]): (origin: string) => boolean {
  if (allowed.length > 0) return (origin) => allowed.includes(origin);
  return (origin) => URL.canParse(origin) && isLocal(new URL(origin), origin);
}

const isLocal = (url: URL, origin: string): boolean =>
  url.origin === origin && (url.protocol === 'http:' || url.protocol === 'https:') && loopbackHost.test(url.host);
