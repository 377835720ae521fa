import type { Config, ModelConfig } from '@caribou/config';
import { modelListRequest } from '@caribou/models';
import { z } from 'zod';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';

const ANSWER_MS = 5_000;
const MAX_BODY_CHARS = 1_000_000;
const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Checks that each model has its key and that its endpoint accepts it; no model is called. Modules are `checkOwnCode`'s. */
export async function checkModels({ models, problems }: Config): Promise<readonly Finding[]> {
  if (models.length === 0) {
    const fix = 'without one, `npm start` uses the scripted demo model, which is not an AI';
    return problems.map((problem) => warn('model', problem, fix));
  }
  return Promise.all(models.filter(({ module }) => module === undefined).map(checkModel));
}

async function checkModel(model: ModelConfig): Promise<Finding> {
  const { name, apiKey, problem, baseUrl } = model;
  if (problem !== undefined) return fail('model', problem.split(':')[0] ?? problem, problem.split(': ')[1] ?? problem);
  // Only the host, as a URL may contain a password.
  const what = `${name}: ${apiKey === undefined ? 'no key' : 'key set'}, ${new URL(baseUrl).host}`;
  try {
    const { url, headers } = modelListRequest(model);
    const response = await fetch(url, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return toFinding(response.status, what, { model: model.model, listed: await idsOf(response) });
  } catch (error) {
    const fix = 'check base_url, the network and the proxy';
    return fail('model', `${what} cannot be reached (${reasonOf(error)})`, fix);
  }
}

interface Listing {
  readonly model: string;
  /** Undefined when the server does not list its models. */
  readonly listed: readonly string[] | undefined;
}

function toFinding(status: number, what: string, { model, listed }: Listing): Finding {
  if (status === 401 || status === 403)
    return fail('model', `${what} refuses the key (${status})`, 'check api_key, or the variable it names');
  if (status >= 500) return warn('model', `${what} answers ${status}`, 'check the server of the model');
  // Gemini lists its models as `models/<name>`.
  const isListed = listed?.some((id) => id === model || id === `models/${model}`) ?? true;
  if (isListed) return ok('model', `${what} answers`);
  return warn('model', `${what} answers, and does not list ${model}`, 'check the name in `model`');
}

/** Names of the server's models; undefined when it does not list them. */
async function idsOf(response: Response): Promise<readonly string[] | undefined> {
  const text = await response.text();
  if (!response.ok || text.length > MAX_BODY_CHARS) return undefined;
  try {
    const parsed = ModelList.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.data.map(({ id }) => id) : undefined;
  } catch {
    // The server answered, which is enough.
    return undefined;
  }
}
