const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/**
 * The address of a link in a text of the model or of a person: absolute, of the web or of mail. Undefined for all others, such as
 * scripts, data and paths of this page.
 */
export function safeUrl(given: string | undefined): URL | undefined {
  if (given === undefined || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  if (!SCHEMES.has(url.protocol)) return undefined;
  // `http:path` would be completed by the address of a page; here it is an address of its own and not what was meant.
  return url.protocol === 'mailto:' || /^https?:\/\//i.test(given.trim()) ? url : undefined;
}

/** Whether the text of a link shows where it leads. */
export function showsHost(text: string, url: URL): boolean {
  const shown = text.trim().toLowerCase();
  if (url.protocol === 'mailto:') return shown.includes(url.pathname.toLowerCase());
  const rest = shown.replace(/^https?:\/\//, '');
  return rest.startsWith(url.host) && /^([/?#]|$)/.test(rest.slice(url.host.length));
}
