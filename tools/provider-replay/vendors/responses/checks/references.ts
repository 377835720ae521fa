import { invalid } from '../errors.js';
import type { IssuedItems } from '../issued-items.js';
import type { InputItem, ResponsesRequest } from '../shape.js';

/**
 * The whole input: the conversation of the previous response, and references replaced by what was stored.
 *
 * @throws Refusal 404 for what was not stored.
 */
export function resolveInput(request: ResponsesRequest, issued: IssuedItems): InputItem[] {
  return [...previousItems(request, issued), ...ownItems(request).map((item) => resolve(item, request, issued))];
}

function previousItems({ previous_response_id: id }: ResponsesRequest, issued: IssuedItems): readonly InputItem[] {
  if (id === undefined || id === null) return [];
  const conversation = issued.conversation(id);
  if (conversation !== undefined) return conversation;
  throw invalid('stored response', `Previous response with id '${id}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  });
}

function ownItems({ input }: ResponsesRequest): readonly InputItem[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
}

/** A reference stands for an item, as does reasoning that has neither encrypted content nor text. */
function resolve(item: InputItem, request: ResponsesRequest, issued: IssuedItems): InputItem {
  const isReference = item.type === 'item_reference';
  if (!isReference && !(item.type === 'reasoning' && !item.encrypted_content)) return item;
  const found = issued.find(item.id);
  if (found?.stored === true) return found.item;
  const hint =
    request.store === false
      ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
      : '';
  throw invalid('stored item', `Item with id '${item.id}' not found.${hint}`, { status: 404, param: 'input' });
}
