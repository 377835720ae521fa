import type { ProblemAnswers } from '../../framework/problem.js';
import type { HttpAnswer } from '../../framework/vendor.js';
import { openaiProblems } from '../openai/openai-errors.js';

function answer(status: number, code: string, message: string): HttpAnswer {
  return { status, body: { error: { code, message } } };
}

/** What the filter says about a text; `filtered` names the one category that stopped it. */
export function filterResults(filtered?: 'violence'): object {
  const safe = { filtered: false, severity: 'safe' };
  const violence = filtered === undefined ? safe : { filtered: true, severity: 'high' };
  return { hate: safe, self_harm: safe, sexual: safe, violence };
}

/** Azure's answer for a version of its API that does not exist, and for none where one is needed. */
export const badApiVersion: HttpAnswer = answer(404, '404', 'Resource not found');

export const azureProblems: ProblemAnswers<HttpAnswer | undefined> = {
  ...openaiProblems,
  'unknown-path': () => answer(404, '404', 'Resource not found'),
  'wrong-key': () =>
    answer(
      401,
      '401',
      'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    ),
  'model-gone': () =>
    answer(
      404,
      'DeploymentNotFound',
      'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    ),
  'rate-limit': ({ retryAfterS }) => ({
    ...answer(
      429,
      '429',
      `Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded the token rate limit of your current pricing tier. Please retry after ${retryAfterS ?? 1} seconds.`,
    ),
    ...(retryAfterS === undefined
      ? {}
      : { headers: { 'retry-after': String(retryAfterS), 'retry-after-ms': String(retryAfterS * 1000) } }),
  }),
  quota: () => answer(403, '403', 'Out of call volume quota. Quota will be replenished in 12:00:00.'),
  overload: () =>
    answer(
      503,
      'ServiceUnavailable',
      'The service is temporarily unable to process your request. Please try again later.',
    ),
  'content-filter': () => ({
    status: 400,
    body: {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
        innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: filterResults('violence') },
      },
    },
  }),
};
