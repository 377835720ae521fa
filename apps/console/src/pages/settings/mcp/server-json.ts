export type ParsedServer =
  | { readonly kind: 'server'; readonly value: Readonly<Record<string, unknown>> }
  /** `line` counts from 1; null when it is not known. */
  | { readonly kind: 'fault'; readonly fault: 'json' | 'object'; readonly line: number | null };

/** The server that a text describes, or what is wrong with the text. */
export function parseServer(text: string): ParsedServer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: 'fault', fault: 'json', line: lineOfSyntaxError(text, error.message) };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'fault', fault: 'object', line: null };
  return { kind: 'server', value: value as Readonly<Record<string, unknown>> };
}

/** Engines name the position, or line and column, or neither. */
function lineOfSyntaxError(text: string, message: string): number | null {
  const line = /line (\d+)/.exec(message)?.[1];
  if (line !== undefined) return Number(line);
  const position = /position (\d+)/.exec(message)?.[1];
  return position === undefined ? null : lineAt(text, Number(position));
}

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

export interface FieldFault {
  /** The field of the server, such as `oauth.token_url`; empty: the server as a whole. */
  readonly field: string;
  readonly message: string;
  /** Where the field is in the text, counted from 1; null when it is not there. */
  readonly line: number | null;
}

/**
 * The faults in the text of a refusal, such as `github.url: must be …; github.args.0: …`, of the server with this name. A part that
 * names no field of it is a fault of the whole.
 */
export function faultsIn(detail: string, name: string, text: string): readonly FieldFault[] {
  return detail.split('; ').map((part) => {
    const at = part.indexOf(': ');
    const path = at < 0 ? '' : part.slice(0, at);
    const prefix = [`mcp_servers.${name}.`, `${name}.`].find((one) => path.startsWith(one));
    if (prefix === undefined) return { field: '', message: part, line: null };
    const field = path.slice(prefix.length);
    return { field, message: part.slice(at + 2), line: lineOfField(text, field) };
  });
}

/** The line of the deepest part of a field that the text has as a key; keys of the same name before it are passed by. */
function lineOfField(text: string, field: string): number | null {
  let from = 0;
  let line: number | null = null;
  for (const key of field.split(/[.[\]]+/).filter((part) => part !== '' && !/^\d+$/.test(part))) {
    const found = text.indexOf(JSON.stringify(key), from);
    if (found < 0) return line;
    from = found;
    line = lineAt(text, found);
  }
  return line;
}

/** A server as it is edited: what has its default is left out, so that the text is short. */
export function toServerText(server: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(server).filter(([, value]) => !isEmpty(value));
  return JSON.stringify(Object.fromEntries(shown), null, 2);
}

/**
 * A server that was edited, with the empty fields that its text had left out. The server compares with what it has shown: without
 * them it would take the address or the command for changed, and want all secrets again.
 */
export const withEmptyFields = (
  edited: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(Object.entries(shown).filter(([, value]) => isEmpty(value))),
  ...edited,
});

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
