import { isRecord, McpServer } from '@caribou/contracts';
import { transportOf } from '@caribou/mcp';

/** Replaces a secret in replies; in a request it means that the secret is unchanged. */
export const MASK = '********';

type Fields = Readonly<Record<string, unknown>>;

/** Arguments behind which a secret follows, and such with one behind `=`. */
const SECRET_FLAG = /^--?[\w-]*(key|token|secret|password|passwd|auth|credential)[\w-]*$/i;
const SECRET_PAIR = /^(--?[\w-]*(?:key|token|secret|password|passwd|auth|credential)[\w-]*=)./i;
const OAUTH_SECRETS = ['client_secret', 'refresh_token'];
/** A text that only names a variable is no secret. */
const isReference = (text: string): boolean => /^\$[A-Za-z_][A-Za-z0-9_]*$/.test(text);

const maskText = (value: unknown): unknown =>
  typeof value === 'string' && (value === '' || isReference(value)) ? value : MASK;

/** Masks every value of a server that may be a secret: of `env`, `headers`, OAuth, the query of its URL, flags. */
export function redactSecrets(entry: Fields): Fields {
  const { env, headers, oauth, args, url } = entry;
  return {
    ...entry,
    ...(isRecord(env) ? { env: mapFields(env, maskText) } : {}),
    ...(isRecord(headers) ? { headers: mapFields(headers, maskText) } : {}),
    ...(isRecord(oauth) ? { oauth: maskOAuth(oauth) } : {}),
    ...(Array.isArray(args) ? { args: maskArgs(args) } : {}),
    ...(typeof url === 'string' ? { url: maskUrl(url) } : {}),
  };
}

/** As a reply shows it: with the fields that clients read, whatever was written; undefined for what is no server. */
export function toShownServer(entry: Fields, enabled: boolean): Fields | undefined {
  const parsed = McpServer.safeParse(entry);
  if (!parsed.success) return undefined;
  const { command, url, args, env, headers, oauth, description } = parsed.data;
  const filled = {
    command: command ?? null,
    url: url ?? null,
    args,
    env,
    headers,
    description,
    oauth: oauth ?? null,
    enabled,
    type: transportOf(parsed.data),
  };
  return redactSecrets({ ...entry, ...filled });
}

function maskOAuth(oauth: Fields): Fields {
  const extra = oauth['extra_token_params'];
  return {
    ...mapFields(oauth, (value, key) =>
      OAUTH_SECRETS.includes(key) && typeof value === 'string' ? maskText(value) : value,
    ),
    ...(isRecord(extra) ? { extra_token_params: mapFields(extra, maskText) } : {}),
  };
}

function maskArgs(args: readonly unknown[]): readonly unknown[] {
  return args.map((arg, at) => {
    if (typeof arg !== 'string') return arg;
    const before: unknown = args[at - 1];
    if (typeof before === 'string' && SECRET_FLAG.test(before) && !arg.startsWith('-')) return maskText(arg);
    const [, flag] = SECRET_PAIR.exec(arg) ?? [];
    return flag === undefined ? arg : `${flag}${MASK}`;
  });
}

/** Names of query fields stay, their values do not. What is no URL may be anything. */
function maskUrl(text: string): string {
  if (isReference(text) || text === '') return text;
  const at = text.indexOf('?');
  if (at < 0) return text;
  const query = text.slice(at + 1).replace(/=([^&#]+)/g, `=${MASK}`);
  return `${text.slice(0, at)}?${query}`;
}

const mapFields = (fields: Fields, change: (value: unknown, key: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value, key)]));
