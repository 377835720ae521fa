import type { ModelConfig } from '../settings/config.js';
import { ModelFile } from '../schema/file-schema.js';
import { addIssues, type Findings, isRecord } from '../common/findings.js';
import { classOf } from './model-classes.js';
import { toModel } from './model-of-entry.js';
import { type Environment, resolveReferences, variable } from '../common/references.js';

/** The model when OPENAI_MODEL is not set. */
const DEFAULT_MODEL = 'gpt-4.1-mini';

interface Reading {
  readonly env: Environment;
  readonly findings: Findings;
}

type Fields = Readonly<Record<string, unknown>>;

/** Options of LangChain's client classes and of DeerFlow that are no fields of a request. */
const clientOptions = new Set([
  ...['async_client', 'cache', 'callbacks', 'client', 'connect_timeout', 'cumulative_stream_usage'],
  ...['default_query', 'default_request_timeout', 'http_async_client', 'http_client', 'http_socket_options'],
  ...['include_response_headers', 'max_retries', 'openai_organization', 'openai_proxy', 'organization'],
  ...['output_version', 'pool_timeout', 'pricing', 'rate_limiter', 'read_timeout', 'request_timeout', 'root_client'],
  ...['stream_chunk_timeout', 'stream_options', 'stream_usage', 'streaming', 'tags', 'tiktoken_model_name'],
  ...['timeout', 'use_responses_api', 'verbose', 'write_timeout'],
]);

/** Fields of a request that the adapter sets itself. */
const ownFields = new Set(['messages', 'stream', 'tool_choice', 'tools']);

/** Other names that LangChain and DeerFlow have for keys of ours; ours wins. */
const otherNames: Readonly<Record<string, string>> = {
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

/** The models that are served, and the names of those that were left out. */
export interface ModelsRead {
  readonly models: readonly ModelConfig[];
  readonly leftOut: ReadonlySet<string>;
}

/** The models of the file's `models:` list, or the one of the environment when the file lists none. */
export function readModels(list: unknown, reading: Reading): ModelsRead {
  const leftOut = new Set<string>();
  if (list === undefined || list === null) return { models: environmentModels(reading), leftOut };
  if (!Array.isArray(list)) {
    reading.findings.faults.push('models: must be a list');
    return { models: [], leftOut };
  }
  const models: ModelConfig[] = [];
  for (const [index, entry] of list.entries()) {
    const key = `models[${index}]`;
    const model = readEntry(entry, key, reading);
    if (model === 'left out') leftOut.add(nameOf(entry));
    if (model === undefined || model === 'left out') continue;
    if (models.some(({ name }) => name === model.name))
      reading.findings.faults.push(`${key}.name: an earlier model has the same name`);
    models.push(model);
  }
  return { models: list.length === 0 ? environmentModels(reading) : models, leftOut };
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
  const entry = { name: variable(env, 'OPENAI_MODEL') ?? DEFAULT_MODEL };
  const model = readEntry(entry, 'OPENAI_MODEL', { env, findings });
  return model === undefined || model === 'left out' ? [] : [model];
}

function readEntry(entry: unknown, key: string, reading: Reading): ModelConfig | 'left out' | undefined {
  if (!isRecord(entry)) {
    reading.findings.faults.push(`${key}: must be an object with a name`);
    return undefined;
  }
  const spelled = withOurNames(entry);
  if (!isServed(spelled, key, reading)) return 'left out';
  const resolved = resolveReferences(spelled, key, reading);
  const parsed = ModelFile.safeParse(resolved);
  if (parsed.success && isRecord(resolved)) {
    return toModel(parsed.data, { key, extras: bodyExtras(resolved, key, reading), reading });
  }
  if (parsed.error !== undefined) addIssues(reading.findings, key, parsed.error);
  return undefined;
}

const nameOf = (entry: unknown): string => (isRecord(entry) ? String(entry['name']) : '');

function withOurNames(entry: Fields): Fields {
  const spelled = Object.entries(entry).map(([name, value]): [string, unknown] => [
    Object.hasOwn(otherNames, name) ? (otherNames[name] ?? name) : name,
    value,
  ]);
  const ours = Object.entries(entry).filter(([name]) => !Object.hasOwn(otherNames, name));
  return Object.fromEntries([...spelled, ...ours]);
}

/** Classes of another protocol are not; one that is not known is, if it says where, in OpenAI's protocol. */
function isServed(entry: Fields, key: string, { findings }: Reading): boolean {
  const use = entry['use'];
  if (typeof use !== 'string') return true;
  const found = classOf(use);
  if (found.kind === 'compatible') return true;
  if (found.kind === 'unknown' && entry['base_url'] !== undefined) {
    findings.notices.push(`${key}.use: ${use} is not loaded: its base_url is spoken to as an OpenAI-compatible server`);
    return true;
  }
  const endpoint = found.kind === 'other' ? found.endpoint : undefined;
  const where = endpoint === undefined ? 'of an OpenAI-compatible gateway to it' : endpoint;
  findings.warnings.push(
    `${key}: the model ${nameOf(entry)} is left out: ${use} does not speak OpenAI's protocol; use langchain_openai:ChatOpenAI with the base_url ${where}`,
  );
  return false;
}

/** The entry's further keys: fields of the request's body, as LangChain's classes hand unknown options on. */
function bodyExtras(entry: Fields, key: string, reading: Reading): Fields {
  const extras: [string, unknown][] = [];
  const unused: string[] = [];
  for (const [name, value] of Object.entries(entry)) {
    if (name in ModelFile.shape) continue;
    if (clientOptions.has(name) || ownFields.has(name)) unused.push(name);
    else if (name === 'model_kwargs' && isRecord(value)) extras.push(...Object.entries(value));
    else extras.push([name, value]);
  }
  if (unused.length > 0)
    reading.findings.notices.push(
      `${key}: options of the client class are not used: ${unused.join(', ')}; llm_call and clocks have retries and times of all models`,
    );
  return Object.fromEntries(extras);
}
