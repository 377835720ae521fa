import { isRecord } from '@caribou/contracts';
import type { ModelConfig } from '../settings/config.js';
import { ModelFile } from '../schema/model-schema.js';
import { addIssues, type Findings } from '../common/findings.js';
import { checkFallbacks } from './check-fallbacks.js';
import { translateClassOptions } from './class-options.js';
import { classOf } from './model-classes.js';
import { isModule, toModuleModel } from './module-model.js';
import { toModel } from './to-model.js';
import { type Environment, resolveReferences, variable } from '../common/references.js';

/** Default of OPENAI_MODEL. */
const DEFAULT_MODEL = 'gpt-4.1-mini';

interface ReadContext {
  readonly env: Environment;
  readonly findings: Findings;
  /** Absolute path of the folder of config.yaml. */
  readonly folder: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Options of LangChain's client classes and of DeerFlow that are not fields of a request. */
const clientOptions = new Set([
  ...['async_client', 'cache', 'callbacks', 'client', 'connect_timeout', 'cumulative_stream_usage'],
  ...['default_request_timeout', 'http_async_client', 'http_client', 'http_socket_options'],
  ...['include_response_headers', 'max_retries', 'openai_organization', 'openai_proxy', 'organization'],
  ...['pool_timeout', 'rate_limiter', 'read_timeout', 'request_timeout', 'root_client'],
  ...['stream_chunk_timeout', 'stream_options', 'stream_usage', 'streaming', 'tags', 'tiktoken_model_name'],
  ...['timeout', 'use_previous_response_id', 'verbose', 'write_timeout'],
]);

/** Fields of a request that the adapter sets itself. */
const ownFields = new Set(['input', 'messages', 'stream', 'tool_choice', 'tools']);

/** LangChain's and DeerFlow's names for keys of an entry; the key's own name takes precedence. */
const keyAliases: Readonly<Record<string, string>> = {
  api_base: 'base_url',
  openai_api_base: 'base_url',
  openai_api_key: 'api_key',
  deepseek_api_key: 'api_key',
  groq_api_key: 'api_key',
  mistral_api_key: 'api_key',
  xai_api_key: 'api_key',
  model_name: 'model',
  context_window: 'max_input_tokens',
};

/** The usable models, and the names of the listed ones that are not supported. */
export interface LoadedModels {
  readonly models: readonly ModelConfig[];
  readonly leftOut: ReadonlySet<string>;
}

/** Reads the models of the file's `models` list, or the one of the environment when the list is empty. */
export function readModels(list: unknown, context: ReadContext): LoadedModels {
  const leftOut = new Set<string>();
  if (list === undefined || list === null) return { models: readEnvironmentModels(context), leftOut };
  if (!Array.isArray(list)) {
    context.findings.faults.push('models: must be a list');
    return { models: [], leftOut };
  }
  const models: ModelConfig[] = [];
  for (const [index, entry] of list.entries()) {
    const key = `models[${index}]`;
    const model = readEntry(entry, key, context);
    if (model === 'left out') leftOut.add(nameOf(entry));
    if (model === undefined || model === 'left out') continue;
    if (models.some(({ name }) => name === model.name))
      context.findings.faults.push(`${key}.name: an earlier model has the same name`);
    models.push(model);
  }
  context.findings.faults.push(...currencyFaults(models));
  if (list.length === 0) return { models: readEnvironmentModels(context), leftOut };
  return { models: checkFallbacks(models, leftOut, context.findings), leftOut };
}

/** Costs and budgets are sums over models, so that all prices have one currency. */
function currencyFaults(models: readonly ModelConfig[]): readonly string[] {
  const [first, ...others] = models.flatMap(({ name, pricing }) => (pricing ? [{ name, ...pricing }] : []));
  return others
    .filter(({ currency }) => currency !== first?.currency)
    .map(
      ({ name }) =>
        `models: pricing.currency of "${name}" must be that of "${first?.name}": all prices have one currency`,
    );
}

/** Lists why no turn can run: no model is configured, or models lack their keys. */
export function modelProblems(models: readonly ModelConfig[]): readonly string[] {
  if (models.length === 0) {
    return [
      'no model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for an OpenAI-compatible server, or list models in config.yaml',
    ];
  }
  return models.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
}

function readEnvironmentModels(context: ReadContext): readonly ModelConfig[] {
  const { env } = context;
  const set = ['OPENAI_API_KEY', 'OPENAI_BASE_URL'].some((name) => variable(env, name) !== undefined);
  if (!set) return [];
  const entry = { name: variable(env, 'OPENAI_MODEL') ?? DEFAULT_MODEL };
  const model = readEntry(entry, 'OPENAI_MODEL', context);
  return model === undefined || model === 'left out' ? [] : [model];
}

function readEntry(entry: unknown, key: string, context: ReadContext): ModelConfig | 'left out' | undefined {
  if (!isRecord(entry)) {
    context.findings.faults.push(`${key}: must be an object with a name`);
    return undefined;
  }
  const spelled = withoutAliases(entry);
  if (!isSupported(spelled, key, context)) return 'left out';
  const resolved = resolveReferences(spelled, key, context);
  if (!isRecord(resolved)) return undefined;
  const { entry: translated, unused } = translateClassOptions(resolved);
  const parsed = ModelFile.safeParse(translated);
  if (parsed.success) {
    const { use } = parsed.data;
    if (use !== undefined && isModule(use)) return toModuleModel({ ...parsed.data, use }, resolved, context.folder);
    const extras = bodyExtras(translated, { key, unused, context });
    return toModel(parsed.data, { key, extras, context }) ?? 'left out';
  }
  if (parsed.error !== undefined) addIssues(context.findings, key, parsed.error);
  return undefined;
}

const nameOf = (entry: unknown): string => (isRecord(entry) ? String(entry['name']) : '');

function withoutAliases(entry: Fields): Fields {
  const spelled = Object.entries(entry).map(([name, value]): [string, unknown] => [
    Object.hasOwn(keyAliases, name) ? (keyAliases[name] ?? name) : name,
    value,
  ]);
  const ownKeys = Object.entries(entry).filter(([name]) => !Object.hasOwn(keyAliases, name));
  return Object.fromEntries([...spelled, ...ownKeys]);
}

/** Rejects classes of other protocols; accepts unknown classes with a base_url, as OpenAI-compatible servers. */
function isSupported(entry: Fields, key: string, { findings }: ReadContext): boolean {
  const use = entry['use'];
  if (typeof use !== 'string' || isModule(use)) return true;
  const found = classOf(use);
  if (found.kind === 'compatible') return true;
  if (found.kind === 'unknown' && entry['base_url'] !== undefined && entry['protocol'] !== undefined) return true;
  if (found.kind === 'unknown' && entry['base_url'] !== undefined) {
    findings.notices.push(`${key}.use: ${use} is not loaded: its base_url is called as an OpenAI-compatible server`);
    return true;
  }
  const endpoint = found.kind === 'other' ? found.endpoint : undefined;
  const where = endpoint === undefined ? 'of an OpenAI-compatible gateway to it' : endpoint;
  findings.warnings.push(
    `${key}: the model ${nameOf(entry)} is left out: ${use} does not speak OpenAI's protocol; use langchain_openai:ChatOpenAI with the base_url ${where}`,
  );
  return false;
}

/** The entry's further keys, which become fields of the request's body as in LangChain's classes. */
function bodyExtras(
  entry: Fields,
  { key, unused: classOptions, context }: { key: string; unused: readonly string[]; context: ReadContext },
): Fields {
  const extras: [string, unknown][] = [];
  const unused = [...classOptions];
  for (const [name, value] of Object.entries(entry)) {
    if (name in ModelFile.shape) continue;
    if (clientOptions.has(name) || ownFields.has(name)) unused.push(name);
    else if (name === 'model_kwargs' && isRecord(value)) extras.push(...Object.entries(value));
    else extras.push([name, value]);
  }
  if (unused.length > 0)
    context.findings.notices.push(
      `${key}: options of the client class are not used: ${unused.join(', ')}; llm_call and clocks set retries and timeouts of all models`,
    );
  return Object.fromEntries(extras);
}
