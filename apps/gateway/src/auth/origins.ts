const loopbackHost = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether a Host header names loopback itself. False for a web page whose own host name resolves to loopback. */
export const isLoopbackHost = (host: string | undefined): boolean => host !== undefined && loopbackHost.test(host);

const plainHost = /^([a-z0-9_-]+|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d+)?$/i;

/** Whether a Host header is an address or a name without dots, so that it cannot be a public DNS name. */
export const isPlainHost = (host: string | undefined): boolean => host !== undefined && plainHost.test(host);

/** The rule which origins may call: the listed ones, or, if none is listed, any http(s) origin on loopback. */
export function createOriginRule(allowed: readonly string[]): (origin: string) => boolean {
  if (allowed.length > 0) return (origin) => allowed.includes(origin);
  return (origin) => URL.canParse(origin) && isLocal(new URL(origin), origin);
}

const isLocal = (url: URL, origin: string): boolean =>
  url.origin === origin && (url.protocol === 'http:' || url.protocol === 'https:') && loopbackHost.test(url.host);
