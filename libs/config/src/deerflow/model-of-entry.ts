import type { z } from 'zod';
import type { ModelConfig } from '../settings/config.js';
import type { ModelFile } from '../schema/file-schema.js';
import { type Findings, isRecord } from '../common/findings.js';
import { classOf, type ModelClass } from './model-classes.js';
import { present } from '../common/present.js';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';

const OFFICIAL_BASE_URL = 'https://api.openai.com/v1';

interface Reading {
  readonly env: Environment;
  readonly findings: Findings;
}

type Entry = z.output<typeof ModelFile>;

interface EntryPlace {
  /** Of the entry in the file. */
  readonly key: string;
  /** Its further fields. */
  readonly extras: Readonly<Record<string, unknown>>;
  readonly reading: Reading;
}

/** The model of an entry that was checked. */
export function toModel(entry: Entry, { key: place, extras, reading }: EntryPlace): ModelConfig {
  const access = accessOf(entry, reading);
  const { key, baseUrl, variableName } = access;
  const missing = key === undefined && access.needsKey;
  return {
    ...namesOf(entry),
    baseUrl,
    supportsThinking: entry.supports_thinking,
    supportsVision: entry.supports_vision,
    supportsReasoningEffort: entry.supports_reasoning_effort,
    sendReasoning: entry.send_reasoning ?? access.sendsReasoning,
    headers: Object.fromEntries(
      Object.entries(entry.default_headers ?? {}).map(([name, value]) => [name, new Secret(value)]),
    ),
    body: { ...extras, ...entry.extra_body },
    ...present({
      apiKey: key === undefined ? undefined : new Secret(key),
      maxTokens: entry.max_tokens,
      maxInputTokens: entry.max_input_tokens,
      temperature: entry.temperature,
      whenThinkingEnabled: thinkingFields(entry),
      whenThinkingDisabled: entry.when_thinking_disabled,
      problem: missing
        ? `model "${entry.name}" has no API key: set ${variableName}, or api_key of ${place} in config.yaml`
        : undefined,
    }),
  };
}

function namesOf({ name, display_name: displayName = name, description = '', model = name }: Entry) {
  return { name, displayName, description, model };
}

interface Access {
  readonly baseUrl: string;
  readonly key: string | undefined;
  /** Where the key is looked for. */
  readonly variableName: string;
  /** Nobody answers there without one. */
  readonly needsKey: boolean;
  readonly sendsReasoning: boolean;
}

/** The key that the environment has for a provider with a class of its own goes to that provider only. */
function accessOf(entry: Entry, reading: Reading): Access {
  const found = classOf(entry.use);
  const known: ModelClass = found.kind === 'compatible' ? found.is : {};
  const sendsReasoning = known.sendsReasoning ?? false;
  if (known.baseUrl !== undefined && known.keyVariable !== undefined) {
    const baseUrl = entry.base_url ?? known.baseUrl;
    const isTheirs = hostOf(baseUrl) === hostOf(known.baseUrl);
    const key = entry.api_key ?? (isTheirs ? variable(reading.env, known.keyVariable) : undefined);
    return { baseUrl, key, variableName: known.keyVariable, needsKey: isTheirs, sendsReasoning };
  }
  const baseUrl = entry.base_url ?? environmentBaseUrl(reading) ?? OFFICIAL_BASE_URL;
  const key = entry.api_key ?? (found.kind === 'compatible' ? variable(reading.env, 'OPENAI_API_KEY') : undefined);
  const needsKey = hostOf(baseUrl) === hostOf(OFFICIAL_BASE_URL);
  return { baseUrl, key, variableName: 'OPENAI_API_KEY', needsKey, sendsReasoning };
}

const hostOf = (url: string): string => new URL(url).hostname;

/** DeerFlow's rule: the shortcut `thinking` goes into the block's `thinking` key. */
function thinkingFields(entry: Entry): Readonly<Record<string, unknown>> | undefined {
  if (entry.thinking === undefined) return entry.when_thinking_enabled;
  const inner = entry.when_thinking_enabled?.['thinking'];
  return { ...entry.when_thinking_enabled, thinking: { ...(isRecord(inner) ? inner : {}), ...entry.thinking } };
}

function environmentBaseUrl({ env, findings }: Reading): string | undefined {
  const value = variable(env, 'OPENAI_BASE_URL');
  if (value === undefined || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) return value;
  const fault = 'OPENAI_BASE_URL: must be an http(s) URL such as http://127.0.0.1:8000/v1';
  if (!findings.faults.includes(fault)) findings.faults.push(fault);
  return undefined;
}
