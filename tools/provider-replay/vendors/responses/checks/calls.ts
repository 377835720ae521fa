import { invalid } from '../errors.js';
import type { InputItem } from '../shape.js';

/**
 * Checks that each call of a function has its output after it, that each output has its call before it, and that no item is there twice.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkCalls(items: readonly InputItem[]): void {
  const ids = new Set<string>();
  const open = new Set<string>();
  const answered = new Set<string>();
  for (const item of items) {
    if ('id' in item && typeof item.id === 'string' && item.type !== 'item_reference') refuseTwice(item.id, ids);
    if (item.type === 'function_call') {
      checkArguments(item.call_id, item.arguments);
      open.add(item.call_id);
    } else if (item.type === 'function_call_output') {
      if (!open.delete(item.call_id)) throw unknownCall(item.call_id, answered);
      answered.add(item.call_id);
    }
  }
  const [first] = open;
  if (first === undefined) return;
  throw invalid('outputs of calls', `No tool output found for function call ${first}.`, { param: 'input' });
}

function refuseTwice(id: string, ids: Set<string>): void {
  if (ids.has(id)) {
    throw invalid(
      'unique items',
      `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
      {
        param: 'input',
      },
    );
  }
  ids.add(id);
}

function unknownCall(callId: string, answered: ReadonlySet<string>): Error {
  const message = answered.has(callId)
    ? `Duplicate function call output found for call_id ${callId}.`
    : `No tool call found for function call output with call_id ${callId}.`;
  return invalid('calls of outputs', message, { param: 'input' });
}

function checkArguments(callId: string, text: string): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw invalid('arguments of calls', `The arguments of function call ${callId} are not valid JSON.`, {
      param: 'input',
    });
  }
}
