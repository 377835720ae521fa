const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
  @media (prefers-color-scheme: dark) { body { color: #eee; background: #181818; } a { color: #8ab4f8; } }
`;

const head = (title: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;

/** Policy of the page of `/`, which may load nothing but its own style. */
export const HOME_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/** The page for users who open the gateway's address in a browser. */
export const homePage = `${head('Caribou')}
<style>${STYLE}</style></head><body>
<h1>Caribou</h1>
<p>This is the API of an agent backend. It has no page for chats of its own.</p>
<ul>
<li><a href="docs">API documentation</a></li>
<li><a href="openapi.json">OpenAPI document</a></li>
<li><a href="health">Health</a>: whether the process lives</li>
<li><a href="ready">Readiness</a>: whether a run would be executed now, and what is missing</li>
</ul>
</body></html>
`;

/**
 * Policy of the page of `/docs`, which may load scripts and send requests of this server only. Swagger UI sets styles
 * of elements and has its images in its style sheet.
 */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page of the API: Swagger UI with the document of `/openapi.json`. */
export const docsPage = `${head('Caribou API')}
<link rel="stylesheet" href="docs/swagger-ui.css"></head><body>
<div id="swagger-ui"></div>
<noscript>This page needs scripts. The same document as data: <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body></html>
`;

/** The script that starts the viewer; it is a separate file because the page's policy forbids inline scripts. */
export const docsScript = `window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  presets: [window.SwaggerUIBundle.presets.apis],
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
});
`;
