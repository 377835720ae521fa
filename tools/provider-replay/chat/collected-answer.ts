import type { Delta } from '../../demo-model/reply.js';

export interface CollectedCall {
  id: string;
  name: string;
  args: string;
}

/** Tool calls in the form in which a whole message has them. */
export function wholeCalls(answer: CollectedAnswer): { id: string; type: 'function'; function: object }[] {
  return answer.calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } }));
}

/** What the deltas of an answer add up to. */
export class CollectedAnswer {
  text = '';
  thinking = '';
  readonly calls: CollectedCall[] = [];

  add(delta: Delta): void {
    if ('content' in delta) this.text += delta.content;
    else if ('reasoning_content' in delta) this.thinking += delta.reasoning_content;
    else {
      const { index, id, function: made } = delta.tool_calls[0];
      const call = (this.calls[index] ??= { id: id ?? '', name: '', args: '' });
      call.name += made.name ?? '';
      call.args += made.arguments;
    }
  }
}
