import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ResponseFunctionToolCall } from 'openai/resources/responses/responses';
import { textIn } from '../http/narrow.js';
import { parseJson } from '../http/provider-text.js';
import type { CallIds } from './call-ids.js';

/** A call of a message, with its arguments as JSON. */
export interface StoredCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What a complete call has beyond the stored one: its ids, and its arguments when it spells their JSON in another way. */
export function toCallExtras(item: Readonly<Record<string, unknown>>): unknown {
  const args = textIn(item['arguments']) ?? '';
  const own = canonical(args);
  return omitUndefined({
    id: textIn(item['id']),
    call_id: textIn(item['call_id']),
    arguments: own === undefined || own === args ? undefined : args,
  });
}

/** A call with the ids of its provider, and with the arguments as it spelled them while they are the same. */
export function callAsItWas(call: StoredCall, extras: unknown, callIds: CallIds): ResponseFunctionToolCall {
  const { id, call_id: callId, arguments: args } = isRecord(extras) ? extras : {};
  const spelled = textIn(args);
  return {
    type: 'function_call',
    ...omitUndefined({ id: textIn(id) }),
    call_id: callIds.add(call.id, textIn(callId)),
    name: call.name,
    arguments: spelled !== undefined && canonical(spelled) === call.arguments ? spelled : call.arguments,
  };
}

/** The JSON in our own spelling; undefined when it is none. */
function canonical(json: string): string | undefined {
  const value = parseJson(json);
  return value === undefined ? undefined : JSON.stringify(value);
}
