import { phraseCodec } from '../phrases/phrase-codec.js';

/** What the texts of steps often have (step-text.ts). The lists never change (`phraseCodec`). */
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

export const stepPhrases = phraseCodec(FREQUENT, OTHERS);
