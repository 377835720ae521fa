import { API_ROOTS } from '../http/route.decorators.js';

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly 'x-required-role': string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<Record<string, Json>>;
}

interface ListedRoute extends Operation {
  readonly method: string;
  readonly path: string;
}

const roots = API_ROOTS.map((root) => `\`/${root}\``)
  .sort()
  .join(' and ');

const intro = `# Routes

A test compares this page with the routes' contracts. When it fails, replace the page by the text that the test expects.

A path under \`/api\` is served under ${roots}. Parameters with \`?\` are optional. The OpenAPI document with all schemas is at
\`/openapi.json\` of a running gateway, and \`/docs\` shows it. The role says who may call: everybody (public), everybody with a key or
a session (user), or administrators, others getting a 403. Every route may also answer 401, 403, 422 or 503.
[Requests](requests.md) has the bounds of bodies and the quotas, [clients](clients.md) what the LangGraph SDK finds.
`;

/**
 * The routes of an OpenAPI document as the Markdown of `docs/api.md`: a table for each tag, in the document's order.
 */
export function renderApiPage(document: Json): string {
  const routes = routesOf(document);
  const groups = [...new Set(routes.map(({ tags }) => tags[0] ?? ''))];
  const sections = groups.map((group) =>
    sectionOf(
      group,
      routes.filter(({ tags }) => tags[0] === group),
    ),
  );
  return [intro, ...sections].join('\n');
}

function routesOf(document: Json): readonly ListedRoute[] {
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

function sectionOf(group: string, routes: readonly ListedRoute[]): string {
  const rows = routes.map(
    (route) =>
      `| ${route.method} | \`${route.path}\` | ${route['x-required-role']} | ${cell(route.summary)} | ${inputOf(route)} | ${answersOf(route)} |`,
  );
  const head = ['| method | path | role | what it does | query and body | answers |', '|---|---|---|---|---|---|'];
  return `## ${group}\n\n${[...head, ...rows].join('\n')}\n`;
}

function inputOf({ parameters, requestBody }: ListedRoute): string {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema));
  const named = [...query, ...bodies].map(({ name, required }) => `\`${name}${required ? '' : '?'}\``);
  const type = Object.keys(requestBody?.content ?? {}).find((name) => name !== 'application/json');
  return [...(type === undefined ? [] : [type]), ...named].join(' ');
}

/** The names of the top-level fields in an object's schema; none for other schemas. */
function fieldsOf(schema: Json): readonly { readonly name: string; readonly required: boolean }[] {
  const { properties = {}, required = [] } = schema as { properties?: Json; required?: readonly string[] };
  return Object.keys(properties).map((name) => ({ name, required: required.includes(name) }));
}

const everywhere = new Set(['401', '403', '422', '503']);

const answersOf = ({ responses }: ListedRoute): string =>
  Object.keys(responses)
    .filter((status) => !everywhere.has(status))
    .join(', ');

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
