/** One `delta` object of a chat completion chunk. */
export type Delta = { content: string } | { reasoning_content: string } | { tool_calls: [ToolCallDelta] };

export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** One step of an answer, in order. */
export type Op =
  | { op: 'delta'; delta: Delta }
  | { op: 'headers' }
  | { op: 'wait'; ms: number }
  | { op: 'hold'; name: string }
  | { op: 'fail'; status: number; message: string }
  | { op: 'fault'; kind: string; detail: string }
  | { op: 'cut'; reset: boolean };

export interface Usage {
  input: number;
  output: number;
}

/** One whole answer of the model before it is sent. */
export interface Reply {
  ops: Op[];
  finish: 'stop' | 'tool_calls' | 'length';
  /** Absent: counted from the request and the deltas. */
  usage?: Usage;
}

/** Splits a text into word-sized deltas whose concatenation is the text. */
export function textDeltas(text: string): Delta[] {
  return pieces(text).map((content) => ({ content }));
}

/** The same for reasoning. */
export function thinkDeltas(text: string): Delta[] {
  return pieces(text).map((reasoning_content) => ({ reasoning_content }));
}

/** The deltas of one tool call: name and id with empty arguments first, then the arguments in pieces. */
export function toolDeltas(call: { index: number; id: string; name: string; args: string }): Delta[] {
  const { index, id, name, args } = call;
  const size = Math.max(8, Math.ceil(args.length / 4));
  const first: Delta = { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
  const rest: Delta[] = [];
  for (let at = 0; at < args.length; at += size) {
    rest.push({ tool_calls: [{ index, function: { arguments: args.slice(at, at + size) } }] });
  }
  return [first, ...rest];
}

export function asOps(deltas: readonly Delta[]): Op[] {
  return deltas.map((delta) => ({ op: 'delta', delta }));
}

/** An answer that is only this text. */
export function sayReply(text: string): Reply {
  return { ops: asOps(textDeltas(text)), finish: 'stop' };
}

function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
}
