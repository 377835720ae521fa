/** The beginning of a page, up to the end of its title. */
export const headOf = (title: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;

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
export const docsPage = `${headOf('Caribou API')}
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
