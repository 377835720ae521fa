import { isRecord, McpServer } from '@caribou/contracts';
import { transportOf } from '@caribou/mcp';

/** Replaces a secret in replies; in a request it means that the secret is unchanged. */
export const MASK = '********';

type Fields = Readonly<Record<string, unknown>>;

/** Flags whose next argument is a secret, and flags with a secret after `=`. */
const SECRET_FLAG = /^--?[\w-]*(key|token|secret|password|passwd|auth|credential)[\w-]*$/i;
const SECRET_PAIR = /^(--?[\w-]*(?:key|token|secret|password|passwd|auth|credential)[\w-]*=)./i;
const OAUTH_SECRETS = ['client_secret', 'refresh_token'];
/** Whether the text only refers to a variable, and so is not a secret. */
const isReference = (text: string): boolean => /^\$[A-Za-z_][A-Za-z0-9_]*$/.test(text);

const maskText = (value: unknown): unknown =>
  typeof value === 'string' && (value === '' || isReference(value)) ? value : MASK;

/** Masks every value of a server that may be a secret: in `env`, headers, OAuth, the query of the URL, and flags. */
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

/** The server as replies show it, with all fields that clients read; undefined when it is malformed. */
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

/** Masks the values in the query of a URL, but not their names. The text need not be a valid URL. */
function maskUrl(text: string): string {
  if (isReference(text) || text === '') return text;
  const at = text.indexOf('?');
  if (at < 0) return text;
  const query = text.slice(at + 1).replace(/=([^&#]+)/g, `=${MASK}`);
  return `${text.slice(0, at)}?${query}`;
}

const mapFields = (fields: Fields, change: (value: unknown, key: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value, key)]));
