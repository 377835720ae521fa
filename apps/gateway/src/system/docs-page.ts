import { httpRoutes, type RouteContract } from '@caribou/contracts';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => escapes[char] ?? char);

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
  details { border: 1px solid #ddd; border-radius: 6px; margin: .5rem 0; padding: .5rem .75rem; }
  summary { cursor: pointer; } summary p { display: inline; margin-left: .5rem; color: #444; }
  code { font-family: ui-monospace, monospace; } .method { font-weight: 700; display: inline-block; min-width: 4rem; }
  pre { overflow: auto; background: #f6f6f6; padding: .75rem; border-radius: 6px; }
  @media (prefers-color-scheme: dark) { body { color: #eee; background: #181818; } pre { background: #242424; } summary p { color: #bbb; } details { border-color: #444; } }
`;

type Operation = Readonly<Record<string, unknown>>;

/** The API as one readable page without scripts, from the same document as `/openapi.json`. */
export function docsPage(document: Readonly<Record<string, unknown>>): string {
  const groups = [...new Set(httpRoutes.map(({ group }) => group))];
  const operations = operationsOf(document);
  const parts = groups.map((group) => {
    const routes = httpRoutes.filter((route) => route.group === group);
    const list = routes.map((route) => routePart(route, operations.get(route.name) ?? {})).join('\n');
    return `<h2>${escape(group)}</h2>\n${list}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Caribou API</title><style>${style}</style></head><body>
<h1>Caribou API</h1>
<p>Paths under <code>/api</code> answer under <code>/api/langgraph</code> as well: point a LangGraph SDK client at either.
As data: <a href="/openapi.json">openapi.json</a>. Refusals are <code>{"detail": "…"}</code> with a 4xx status.</p>
${parts.join('\n')}
</body></html>
`;
}

function operationsOf(document: Readonly<Record<string, unknown>>): Map<string, Operation> {
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(all.map((operation) => [String(operation['operationId']), operation]));
}

function routePart({ method, path, root, summary }: RouteContract, operation: Operation): string {
  const shown = `${root ? '' : '/api'}${path}`;
  const { parameters, requestBody, responses } = operation;
  const details = { parameters, requestBody, responses };
  return `<details><summary><span class="method">${method}</span><code>${escape(shown)}</code><p>${escape(summary)}</p></summary>
<pre><code>${escape(JSON.stringify(details, undefined, 2))}</code></pre></details>`;
}
