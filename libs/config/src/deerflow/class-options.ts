import { isRecord } from '@caribou/contracts';
import { classOf } from './model-classes.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Gives the options of an entry's client class the names and the form that its OpenAI-compatible endpoint has. The entry's own keys take
 * precedence over the class's names for them.
 *
 * @param entry with its references resolved
 * @returns the entry, and the names of the options that the endpoint does not have
 */
export function translateClassOptions(entry: Fields): { readonly entry: Fields; readonly unused: readonly string[] } {
  const { use } = entry;
  const found = classOf(typeof use === 'string' ? use : undefined);
  if (found.kind !== 'compatible') return { entry, unused: [] };
  const { aliases = {}, unused = [], dialect } = found.is;
  const named = withoutKeys(rename(entry, aliases), unused);
  const translate = (dialect === undefined ? undefined : translations[dialect]) ?? ((fields) => fields);
  const blocks = ['when_thinking_enabled', 'when_thinking_disabled'].flatMap((key) => {
    const block = named[key];
    return isRecord(block) ? [[key, translate(block)] as const] : [];
  });
  return {
    entry: { ...translate(named), ...Object.fromEntries(blocks) },
    unused: unused.filter((name) => Object.hasOwn(entry, name)),
  };
}

function rename(entry: Fields, aliases: Readonly<Record<string, string>>): Fields {
  const renamed = Object.entries(entry).flatMap(([name, value]) =>
    Object.hasOwn(aliases, name) ? [[aliases[name] ?? name, value] as const] : [],
  );
  return { ...Object.fromEntries(renamed), ...withoutKeys(entry, Object.keys(aliases)) };
}

const withoutKeys = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

const translations: Readonly<Record<string, (fields: Fields) => Fields>> = {
  azure: translateAzure,
  gemini: translateGemini,
  ollama: translateOllama,
};

function translateAzure(fields: Fields): Fields {
  const url = urlIn(fields['base_url']);
  return url === undefined ? fields : { ...fields, base_url: azureAddress(url.href) };
}

/**
 * The OpenAI-compatible address of an Azure resource, which has all its deployments; other URLs are returned as they are. "Azure OpenAI v1
 * API", learn.microsoft.com, November 2026.
 */
export function azureAddress(endpoint: string): string {
  const url = new URL(endpoint);
  const isComplete = !/\.azure\.com$/.test(url.hostname) || url.pathname.includes('/openai/v1');
  return isComplete ? endpoint : new URL('/openai/v1/', url).href;
}

/** "OpenAI compatibility", ai.google.dev, November 2026: options of thinking are in `extra_body.google.thinking_config`. */
function translateGemini(fields: Fields): Fields {
  const { thinking_budget: budget, thinking_level: level, include_thoughts: shown, ...rest } = fields;
  const options = { thinking_budget: budget, thinking_level: level, include_thoughts: shown };
  const config = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const url = urlIn(fields['base_url']);
  const isNative = url?.hostname === 'generativelanguage.googleapis.com' && !url.pathname.includes('/openai');
  return {
    ...rest,
    ...(isNative ? { base_url: new URL('/v1beta/openai/', url).href } : {}),
    ...(Object.keys(config).length === 0 ? {} : { extra_body: withThinkingConfig(rest['extra_body'], config) }),
  };
}

/** The body has a field `extra_body` of its own, as the page says. */
function withThinkingConfig(configured: unknown, config: Fields): Fields {
  const body = isRecord(configured) ? configured : {};
  const inner = isRecord(body['extra_body']) ? body['extra_body'] : {};
  const google = isRecord(inner['google']) ? inner['google'] : {};
  return { ...body, extra_body: { ...inner, google: { thinking_config: config, ...google } } };
}

/** "OpenAI compatibility", docs.ollama.com, November 2026: `reasoning` is an object with an effort; an answer has no limit by default. */
function translateOllama(fields: Fields): Fields {
  const { reasoning, max_tokens: limit, ...rest } = fields;
  const url = urlIn(fields['base_url']);
  return {
    ...rest,
    ...(url?.pathname === '/' ? { base_url: new URL('/v1', url).href } : {}),
    ...(limit === undefined || (typeof limit === 'number' && limit < 0) ? {} : { max_tokens: limit }),
    ...(reasoning === undefined || reasoning === null ? {} : { reasoning: effortOf(reasoning) }),
  };
}

const effortOf = (reasoning: unknown): unknown =>
  isRecord(reasoning)
    ? reasoning
    : { effort: reasoning === true ? 'medium' : reasoning === false ? 'none' : reasoning };

const urlIn = (value: unknown): URL | undefined =>
  typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
