import { isRecord, omitUndefined } from '@caribou/contracts';
import type { z } from 'zod';
import type { ModelConfig, ModelPricing } from '../settings/config.js';
import { type DialectName, dialectOfHost, type ProtocolName } from '../common/dialects.js';
import type { ModelFile } from '../schema/model-schema.js';
import type { Findings } from '../common/findings.js';
import { azureAddress } from './class-options.js';
import { classOf, classOfEntry, type ModelClass } from './model-classes.js';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';
import { toAnthropic } from './to-anthropic.js';

const OFFICIAL_BASE_URL = 'https://api.openai.com/v1';

interface ReadContext {
  readonly env: Environment;
  readonly findings: Findings;
}

type Entry = z.output<typeof ModelFile>;

interface EntryDetails {
  /** Path of the entry in the file, such as `models[0]`. */
  readonly key: string;
  /** Further fields of the request's body. */
  readonly extras: Readonly<Record<string, unknown>>;
  readonly context: ReadContext;
}

/** Builds the model of a validated entry; undefined, with a warning, when its class has no default URL and the entry names none. */
export function toModel(entry: Entry, { key: path, extras, context }: EntryDetails): ModelConfig | undefined {
  const access = accessOf(entry, context);
  if (typeof access === 'string') {
    context.findings.warnings.push(`${path}: the model ${entry.name} is left out: ${access}`);
    return undefined;
  }
  const { key, baseUrl } = access;
  const protocol = protocolOf(entry) ?? access.protocol;
  const whenThinkingEnabled = thinkingFields(entry);
  const options =
    protocol === 'messages'
      ? toAnthropic({ entry, extras, key: path, whenThinkingEnabled, findings: context.findings })
      : { extras, anthropic: undefined };
  return {
    ...commonFields(entry),
    baseUrl,
    protocol,
    dialect: entry.dialect ?? dialectOfHost(baseUrl) ?? access.dialect ?? 'generic',
    headers: Object.fromEntries(
      Object.entries(entry.default_headers ?? {}).map(([name, value]) => [name, new Secret(value)]),
    ),
    body: { ...options.extras, ...entry.extra_body },
    ...omitUndefined({
      sendReasoning: entry.send_reasoning ?? access.sendsReasoning,
      query: entry.default_query,
      anthropic: options.anthropic,
      apiKey: key === undefined ? undefined : new Secret(key),
      whenThinkingEnabled,
      whenThinkingDisabled: entry.when_thinking_disabled,
      problem: keyProblem(entry.name, path, { ...access, protocol }),
    }),
  };
}

/** Fields of a model that do not depend on how it is asked. */
export const commonFields = (entry: Entry) => ({
  ...namesOf(entry),
  supportsThinking: entry.supports_thinking,
  supportsVision: entry.supports_vision,
  supportsReasoningEffort: entry.supports_reasoning_effort,
  fallbacks: entry.fallbacks,
  ...omitUndefined({
    maxTokens: entry.max_tokens,
    maxInputTokens: entry.max_input_tokens,
    temperature: entry.temperature,
    pricing: pricingOf(entry),
  }),
});

/** The protocol that the entry asks for. `use_responses_api` wins over `output_version`, as in LangChain's `ChatOpenAI`. */
function protocolOf({ protocol, use_responses_api: asked, output_version: version }: Entry): ProtocolName | undefined {
  const uses = asked ?? version === 'responses/v1';
  return protocol ?? (uses ? 'responses' : undefined);
}

function keyProblem(name: string, path: string, { key, needsKey, variableName, protocol }: Access): string | undefined {
  if (key === undefined && needsKey)
    return `model "${name}" has no API key: set ${variableName}, or api_key of ${path} in config.yaml`;
  if (protocol !== 'messages' || key?.startsWith('sk-ant-oat') !== true) return undefined;
  return `model "${name}" has a token of Claude Code's sign-in, which is not served: set an API key in ${variableName}, or in api_key of ${path}`;
}

function pricingOf({ pricing }: Entry): ModelPricing | undefined {
  if (pricing === undefined) return undefined;
  const { currency, input, cached_input: cachedInput = input, cache_write: cacheWrite = input, output } = pricing;
  return { currency, input, cachedInput, cacheWrite, output, reasoning: pricing.reasoning ?? output };
}

function namesOf({ name, display_name: displayName = name, description = '', model = name }: Entry) {
  return { name, displayName, description, model };
}

interface Access {
  readonly baseUrl: string;
  readonly key: string | undefined;
  /** The variable that may hold the key. */
  readonly variableName: string;
  /** The endpoint refuses requests without a key. */
  readonly needsKey: boolean;
  readonly sendsReasoning: boolean | undefined;
  readonly protocol: ProtocolName;
  /** Dialect of the entry's class. */
  readonly dialect: DialectName | undefined;
}

/**
 * Finds URL and key. A key that the environment holds for a provider with its own class is sent to that provider only.
 *
 * @returns a text that says what is missing, when there is no URL
 */
function accessOf(entry: Entry, context: ReadContext): Access | string {
  const found = classOf(entry.use);
  const known = classOfEntry(entry.use, entry.protocol);
  if (known.keyVariables !== undefined) return accessByClass(entry, known, known.keyVariables, context);
  const baseUrl = entry.base_url ?? readBaseUrl(context) ?? OFFICIAL_BASE_URL;
  const key = entry.api_key ?? (found.kind === 'compatible' ? variable(context.env, 'OPENAI_API_KEY') : undefined);
  const needsKey = hostOf(baseUrl) === hostOf(OFFICIAL_BASE_URL);
  return { baseUrl, key, variableName: 'OPENAI_API_KEY', needsKey, ...traitsOf(known) };
}

function accessByClass(
  entry: Entry,
  known: ModelClass,
  keyVariables: readonly string[],
  { env }: ReadContext,
): Access | string {
  const baseUrl = entry.base_url ?? known.baseUrl ?? endpointIn(env, known);
  if (baseUrl === undefined) return `it has no URL: set ${known.baseUrlVariable}, or base_url`;
  const isOfficial = known.hosts?.test(hostOf(baseUrl)) ?? (known.baseUrl && hostOf(baseUrl) === hostOf(known.baseUrl));
  const ofEnv = isOfficial === true ? keyVariables.map((name) => variable(env, name)).find(Boolean) : undefined;
  const [variableName = ''] = keyVariables;
  return {
    baseUrl,
    key: entry.api_key ?? ofEnv,
    variableName,
    needsKey: isOfficial === true && keyVariables.length > 0,
    ...traitsOf(known),
  };
}

/** The URL that the class's variable has, if it is an http(s) URL, as the address of the class's protocol. */
function endpointIn(env: Environment, { baseUrlVariable, dialect }: ModelClass): string | undefined {
  const value = baseUrlVariable === undefined ? undefined : variable(env, baseUrlVariable);
  if (value === undefined || !URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) return undefined;
  return dialect === 'azure' ? azureAddress(value) : value;
}

const traitsOf = ({ sendsReasoning, protocol = 'chat_completions', dialect }: ModelClass) => ({
  sendsReasoning,
  protocol,
  dialect,
});

const hostOf = (url: string): string => new URL(url).hostname;

/** Merges the shortcut `thinking` into the `thinking` key of `when_thinking_enabled`, as DeerFlow does. */
function thinkingFields(entry: Entry): Readonly<Record<string, unknown>> | undefined {
  if (entry.thinking === undefined) return entry.when_thinking_enabled;
  const inner = entry.when_thinking_enabled?.['thinking'];
  return { ...entry.when_thinking_enabled, thinking: { ...(isRecord(inner) ? inner : {}), ...entry.thinking } };
}

function readBaseUrl({ env, findings }: ReadContext): string | undefined {
  const value = variable(env, 'OPENAI_BASE_URL');
  if (value === undefined || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) return value;
  const fault = 'OPENAI_BASE_URL: must be an http(s) URL such as http://127.0.0.1:8000/v1';
  if (!findings.faults.includes(fault)) findings.faults.push(fault);
  return undefined;
}
