import { textOf } from '@caribou/contracts';
import type { AgentMiddleware, SandboxPort, ToolCallRequest, ToolOutcome } from '@caribou/core';
import { fileResult, type FiledResult, type NotFiled } from './result-file.js';
import { type CutFacts, cutText, withText } from './result-cut.js';
import { CUT_MARK, fitHistory } from './result-history.js';
import { addBinding } from '../conversation/sandbox.js';
import { DEFAULT_TOOL_OUTPUT_LIMITS, type ToolOutputLimits } from './tool-output-limits.js';

export interface ToolOutputPorts {
  readonly sandbox: Pick<SandboxPort, 'write' | 'binding'>;
}

/**
 * Keeps large results out of the conversation: the full result is written to a file of the thread, and the message has
 * its beginning, its end and the path. A result that cannot be written is cut at other sizes, with a note. Results of
 * exempt tools are only cut when they add up; uncut results of the thread are cut in the request only. Characters are
 * UTF-16 units.
 */
export function toolOutputBudget(
  { sandbox }: ToolOutputPorts,
  options: Partial<ToolOutputLimits> = {},
): AgentMiddleware {
  const limits = { ...DEFAULT_TOOL_OUTPUT_LIMITS, ...options };
  const fit = fitHistory(limits);
  return {
    name: 'tool-output-budget',
    wrapModelCall: (request, next) => next({ ...request, messages: fit(request.messages) }),
    async wrapToolCall(request, next, run) {
      const outcome = await next(request);
      const text = textOf(outcome.content);
      if (isSmall(text, limits) || isShownWhole(request, outcome, limits)) return outcome;
      const { name } = request.call;
      const filed = await fileResult(sandbox, { call: request.call, text, run });
      const cut = 'path' in filed ? withPath(name, text, { filed, limits }) : withoutPath(text, { why: filed, limits });
      const bound = addBinding(outcome, request, sandbox.binding(run));
      if (cut === undefined) return bound;
      run.recordDecision('tool-output-budget', 'path' in filed ? 'filed' : 'cut', { chars: text.length });
      const mark = { [CUT_MARK]: { chars: text.length, ...('path' in filed ? { path: filed.path } : {}) } };
      return {
        ...bound,
        content: withText(outcome.content, cut),
        additionalKwargs: { ...outcome.additionalKwargs, ...mark },
      };
    },
  };
}

/** Whether the text is small enough, or the preview would show all of it. */
const isSmall = ({ length }: string, limits: ToolOutputLimits): boolean =>
  length < limits.externalizeMinChars || length <= limits.previewHeadChars + limits.previewTailChars;

/** A question that ends the run is shown to the user completely. */
const isShownWhole = ({ call }: ToolCallRequest, { end }: ToolOutcome, { exemptTools }: ToolOutputLimits): boolean =>
  end === true || exemptTools.includes(call.name);

/** Average line length above which reading by line numbers is not useful. */
const LONG_LINE_CHARS = 5_000;

function withPath(
  tool: string,
  text: string,
  { filed, limits }: { readonly filed: FiledResult; readonly limits: ToolOutputLimits },
): string | undefined {
  const kept = { head: limits.previewHeadChars, tail: limits.previewTailChars };
  return cutText(text, kept, (facts) => {
    const what = filed.whole ? `The whole result of ${tool}` : `The first ${filed.chars} characters of the result`;
    const how =
      facts.chars / facts.lines > LONG_LINE_CHARS
        ? 'Its lines are long: take parts out with bash (head -c, cut).'
        : 'Read what you need of it with read_file, giving start_line and end_line, or search it with grep.';
    return `${formatOmission(facts)} ${what} is in '${filed.path}'. ${how}`;
  });
}

function withoutPath(
  text: string,
  { why, limits }: { readonly why: NotFiled; readonly limits: ToolOutputLimits },
): string | undefined {
  if (text.length < limits.fallbackMaxChars) return undefined;
  const kept = { head: limits.fallbackHeadChars, tail: limits.fallbackTailChars };
  return cutText(
    text,
    kept,
    (facts) =>
      `${formatOmission(facts)} They could not be kept in a file (${why.reason}) and are lost: ` +
      'if you need them, make the call again for a smaller part.',
  );
}

const formatOmission = ({ chars, lines, omitted }: CutFacts): string =>
  `${omitted} of ${chars} characters (${lines} lines) are left out here.`;
