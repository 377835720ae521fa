/**
 * What the texts of steps often have (step-text.ts). Each is stored as a code that begins with a control character, of which JSON has
 * none. The lists never change, as stored texts need exactly these; another list needs another first byte (packed-text.ts).
 */
const FREQUENT: readonly string[] = [
  ...[
    '{"n":',
    ',"x":"m","b":',
    ',"x":"t","b":',
    ',"p":',
    ',"c":[{"a":',
    ',"m":"',
    '","u":"',
    '","v":"',
    '","f":',
    ',"d":',
  ],
  ...[',"i":', ',"o":', ',"s":"stop","g":"', ',"s":"tool_calls","g":"', '","q":{"s":"', '","t":"', ',"t":[{"a":'],
  ...['","p":{"thinking_enabled":false},"l":["', '","p":{"thinking_enabled":true},"l":["', ',{"f":', ',"e":[['],
  ...[',0,"<user_input>\\n"],[', ',0,"\\n</user_input>"]]}', ']}}],"h":[', '",[0,1]]}}],"h":[', ',[["thread-context",'],
  ...['["memory",', ',"written"],', '"handed over"]]]}', ',"b":'],
];
const OTHERS: readonly string[] = [
  ...[
    'api.openai.com/v1',
    'api.anthropic.com/v1',
    ',[["title",',
    ',1,"cut"]]]}',
    '","p":{"reasoning_effort":"',
    '"temperature":0',
  ],
  ...[
    '"max_tokens":',
    ',"thinking_enabled":',
    ',"w":"middleware"',
    ',"k":2',
    ',"y":"retry"',
    ',"y":"fallback"',
    ',"z":"error"',
  ],
  ...[
    ',"z":"aborted"',
    ',"z":"unknown"',
    ',"z":"interrupted"',
    ',"x":["ModelError","the model endpoint ',
    ',"e":0',
    ',"r":0',
  ],
  ...[
    ',"m":"bash","g":"call_',
    ',"m":"read_file","g":"call_',
    ',"m":"write_file","g":"call_',
    '["llm-error",',
    ',[["memory",',
  ],
];

/** One of FREQUENT is U+0001 and so on, one of OTHERS is U+001F and a character from the space on. */
const ESCAPE = '\u001f';
const SPACE = 0x20;
const phrases = new Map<string, string>([
  ...FREQUENT.map((text, index) => [String.fromCharCode(index + 1), text] as const),
  ...OTHERS.map((text, index) => [ESCAPE + String.fromCharCode(SPACE + index), text] as const),
]);
const codes = new Map(Array.from(phrases, ([code, text]) => [text, code]));

const longestFirst = [...codes.keys()].sort((one, other) => other.length - one.length);
const phrase = new RegExp(longestFirst.map((text) => text.replace(/[{}[\]|\\.]/g, '\\$&')).join('|'), 'g');
const code = /\u001f.|[\u0001-\u001e]/g;

/** The JSON with codes in place of phrases; a fifth of the time that zlib takes for a text of 400 characters, and as short. */
export const abbreviate = (json: string): string => json.replace(phrase, (found) => codes.get(found) ?? found);

/** The JSON of an abbreviated text. */
export const expandPhrases = (text: string): string => text.replace(code, (found) => phrases.get(found) ?? found);
