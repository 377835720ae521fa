import { headOf } from './docs-page.js';

/** A path as proxies that remove a prefix name it: segments of plain characters, so that it is a path of this host. */
const prefixPattern = /^(?:\/[\w.~-]+)+$/;
const MAX_PREFIX_CHARS = 200;

/**
 * The prefix that a proxy has removed from the path, by its header `X-Forwarded-Prefix`; undefined without a valid one. Only the addresses
 * within the page of the sender depend on it.
 */
export function forwardedPrefix(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > MAX_PREFIX_CHARS) return undefined;
  const prefix = header.replace(/\/$/, '');
  return prefixPattern.test(prefix) ? prefix : undefined;
}

/**
 * The page with its files below a prefix. They are relative otherwise, which does not work when the prefix itself is opened, without
 * a slash at its end.
 */
export const belowPrefix = (html: string, prefix: string): string =>
  html.replaceAll(/\b(href|src)="\.\//g, (_found, name: string) => `${name}="${prefix}/`);

/** The page in place of the console where that was not built. */
export const missingConsolePage = `${headOf('Caribou')}
</head><body>
<h1>Caribou</h1>
<p>This gateway works, but its console was not built: run <code>npm run build</code> and start the gateway again.</p>
<ul>
<li><a href="docs">API documentation</a></li>
<li><a href="openapi.json">OpenAPI document</a></li>
<li><a href="health">Health</a>: whether the process lives</li>
<li><a href="ready">Readiness</a>: whether a run would be executed now, and what is missing</li>
</ul>
</body></html>
`;
