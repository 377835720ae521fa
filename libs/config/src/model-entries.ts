import type { z } from 'zod';
import type { ModelConfig } from './config.js';
import { ModelFile } from './file-schema.js';
import { addIssues, type Findings, isRecord } from './findings.js';
import { present } from './present.js';
import { type Environment, resolveReferences, variable } from './references.js';
import { Secret } from './secret.js';

export const OFFICIAL_BASE_URL = 'https://api.openai.com/v1';
/** The model when OPENAI_MODEL is not set. */
export const DEFAULT_MODEL = 'gpt-4.1-mini';

interface Reading {
  readonly env: Environment;
  readonly findings: Findings;
}

/** Options of LangChain's client classes that are no fields of a request. */
const clientOptions = new Set([
  'async_client',
  'cache',
  'client',
  'default_query',
  'http_async_client',
  'http_client',
  'max_retries',
  'openai_proxy',
  'organization',
  'output_version',
  'request_timeout',
  'root_client',
  'stream_chunk_timeout',
  'stream_options',
  'stream_usage',
  'streaming',
  'timeout',
  'use_responses_api',
  'verbose',
]);

/** Fields of a request that the adapter sets itself. */
const ownFields = new Set(['messages', 'stream', 'tool_choice', 'tools']);

/** The models of the file's `models:` list, or the one of the environment when the file lists none. */
export function readModels(list: unknown, reading: Reading): readonly ModelConfig[] {
  if (list === undefined || list === null) return environmentModels(reading);
  if (!Array.isArray(list)) {
    reading.findings.faults.push('models: must be a list');
    return [];
  }
  const models: ModelConfig[] = [];
  for (const [index, entry] of list.entries()) {
    const model = readEntry(entry, `models[${index}]`, reading);
    if (model === undefined) continue;
    if (models.some(({ name }) => name === model.name))
      reading.findings.faults.push(`models[${index}].name: an earlier model has the same name`);
    models.push(model);
  }
  return list.length === 0 ? environmentModels(reading) : models;
}

/** Why no turn would run, or why a listed model would not answer. */
export function modelProblems(models: readonly ModelConfig[]): readonly string[] {
  if (models.length === 0) {
    return [
      'no model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for an OpenAI-compatible server, or list models in config.yaml',
    ];
  }
  return models.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
}

function environmentModels({ env, findings }: Reading): readonly ModelConfig[] {
  const set = ['OPENAI_API_KEY', 'OPENAI_BASE_URL'].some((name) => variable(env, name) !== undefined);
  if (!set) return [];
  const model = readEntry({ name: variable(env, 'OPENAI_MODEL') ?? DEFAULT_MODEL }, 'OPENAI_MODEL', { env, findings });
  return model === undefined ? [] : [model];
}

function readEntry(entry: unknown, key: string, reading: Reading): ModelConfig | undefined {
  if (!isRecord(entry)) {
    reading.findings.faults.push(`${key}: must be an object with a name`);
    return undefined;
  }
  const { api_base: apiBase, ...rest } = entry;
  const spelled = apiBase === undefined || 'base_url' in rest ? rest : { ...rest, base_url: apiBase };
  if (!isServed(spelled, key, reading)) return undefined;
  const resolved = resolveReferences(spelled, key, reading);
  const parsed = ModelFile.safeParse(resolved);
  if (parsed.success && isRecord(resolved)) {
    return toModel(parsed.data, { key, extras: bodyExtras(resolved, key, reading), reading });
  }
  if (parsed.error !== undefined) addIssues(reading.findings, key, parsed.error);
  return undefined;
}

const isOpenAiClass = (use: string): boolean => /openai/i.test(use) && !/azure/i.test(use);

/** OpenAI's own classes, and any class with a base_url, which is then spoken to in OpenAI's protocol. */
function isServed(entry: Readonly<Record<string, unknown>>, key: string, { findings }: Reading): boolean {
  const use = entry['use'];
  if (typeof use !== 'string' || isOpenAiClass(use)) return true;
  const served = entry['base_url'] !== undefined;
  findings.warnings.push(
    served
      ? `${key}.use: ${use} is not loaded; the model is served by the OpenAI-compatible client at its base_url`
      : `${key}.use: ${use} is not an OpenAI-compatible client and the entry has no base_url; the model is left out`,
  );
  return served;
}

/** The entry's further keys: fields of the request's body, as LangChain's classes hand unknown options on. */
function bodyExtras(
  entry: Readonly<Record<string, unknown>>,
  key: string,
  reading: Reading,
): Readonly<Record<string, unknown>> {
  const extras: [string, unknown][] = [];
  for (const [name, value] of Object.entries(entry)) {
    if (name in ModelFile.shape) continue;
    if (clientOptions.has(name) || ownFields.has(name)) reading.findings.warnings.push(`${key}.${name}: not used`);
    else if (name === 'model_kwargs' && isRecord(value)) extras.push(...Object.entries(value));
    else extras.push([name, value]);
  }
  return Object.fromEntries(extras);
}

type Entry = z.output<typeof ModelFile>;

function toModel(
  entry: Entry,
  from: { key: string; extras: Readonly<Record<string, unknown>>; reading: Reading },
): ModelConfig {
  const { env } = from.reading;
  const foreign = entry.use !== undefined && !isOpenAiClass(entry.use);
  const key = entry.api_key ?? (foreign ? undefined : variable(env, 'OPENAI_API_KEY'));
  const baseUrl = entry.base_url ?? environmentBaseUrl(from.reading) ?? OFFICIAL_BASE_URL;
  const missing = key === undefined && isOfficial(baseUrl);
  return {
    ...namesOf(entry),
    baseUrl,
    supportsThinking: entry.supports_thinking,
    supportsVision: entry.supports_vision,
    supportsReasoningEffort: entry.supports_reasoning_effort,
    sendReasoning: entry.send_reasoning,
    headers: Object.fromEntries(
      Object.entries(entry.default_headers ?? {}).map(([name, value]) => [name, new Secret(value)]),
    ),
    body: { ...from.extras, ...entry.extra_body },
    ...present({
      apiKey: key === undefined ? undefined : new Secret(key),
      maxTokens: entry.max_tokens,
      maxInputTokens: entry.max_input_tokens,
      temperature: entry.temperature,
      whenThinkingEnabled: thinkingFields(entry),
      problem: missing
        ? `model "${entry.name}" has no API key: set OPENAI_API_KEY, or api_key of ${from.key} in config.yaml`
        : undefined,
    }),
  };
}

function namesOf({ name, display_name: displayName = name, description = '', model = name }: Entry) {
  return { name, displayName, description, model };
}

/** DeerFlow's rule: the shortcut `thinking` goes into the block's `thinking` key. */
function thinkingFields(entry: Entry): Readonly<Record<string, unknown>> | undefined {
  if (entry.thinking === undefined) return entry.when_thinking_enabled;
  const inner = entry.when_thinking_enabled?.['thinking'];
  return { ...entry.when_thinking_enabled, thinking: { ...(isRecord(inner) ? inner : {}), ...entry.thinking } };
}

const isOfficial = (baseUrl: string): boolean => new URL(baseUrl).hostname === new URL(OFFICIAL_BASE_URL).hostname;

function environmentBaseUrl({ env, findings }: Reading): string | undefined {
  const value = variable(env, 'OPENAI_BASE_URL');
  if (value === undefined || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) return value;
  const fault = 'OPENAI_BASE_URL: must be an http(s) URL such as http://127.0.0.1:8000/v1';
  if (!findings.faults.includes(fault)) findings.faults.push(fault);
  return undefined;
}
