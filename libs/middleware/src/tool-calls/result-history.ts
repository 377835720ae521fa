import { type Message, textOf, type ToolMessage } from '@caribou/contracts';
import { cutText, type KeptChars, withText } from './result-cut.js';
import type { ToolOutputLimits } from './tool-output-limits.js';

/** Key of `additional_kwargs` of a tool message whose text was cut in the thread: `{chars, path?}`. */
export const CUT_MARK = 'tool_output';

/** Maximum characters of uncut results of exempt tools in a request, newest first; the newest is never cut. */
const WHOLE_EXEMPT_CHARS = 200_000;

/**
 * Cuts the results in a request: those over the limit that were not cut in the thread, and those of exempt tools except
 * the newest. Each message is cut once, as messages never change.
 */
export function fitHistory(limits: ToolOutputLimits): (messages: readonly Message[]) => readonly Message[] {
  const known = new WeakMap<Message, Message>();
  const exempt = new Set(limits.exemptTools);
  const cut = (message: ToolMessage, kept: KeptChars): Message => {
    const made = known.get(message) ?? cutMessage(message, kept);
    known.set(message, made);
    return made;
  };
  return (messages) => {
    let wholeChars = 0;
    const fitted = messages.toReversed().map((message) => {
      if (message.type !== 'tool' || CUT_MARK in message.additional_kwargs) return message;
      const { length } = textOf(message.content);
      if (!exempt.has(message.name)) return length < limits.fallbackMaxChars ? message : cut(message, fallback(limits));
      const isFirst = wholeChars === 0;
      if (isFirst || wholeChars + length <= WHOLE_EXEMPT_CHARS) {
        wholeChars += length;
        return message;
      }
      return length < limits.externalizeMinChars ? message : cut(message, preview(limits));
    });
    return fitted.reverse();
  };
}

const fallback = (limits: ToolOutputLimits): KeptChars => ({
  head: limits.fallbackHeadChars,
  tail: limits.fallbackTailChars,
});
const preview = (limits: ToolOutputLimits): KeptChars => ({
  head: limits.previewHeadChars,
  tail: limits.previewTailChars,
});

function cutMessage(message: ToolMessage, kept: KeptChars): Message {
  const cut = cutText(
    textOf(message.content),
    kept,
    ({ chars, lines, omitted }) =>
      `${omitted} of ${chars} characters (${lines} lines) are not shown any more, to save room. ` +
      'If you need them, make the call again, for the part you need.',
  );
  return cut === undefined ? message : { ...message, content: withText(message.content, cut) };
}
