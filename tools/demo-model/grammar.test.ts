import { parseScript, ScriptError } from './grammar.js';

const steps = (...lines: string[]) =>
  parseScript(lines.join('\n'))?.steps.map((step) => step.map((action) => action.do));

describe(parseScript, () => {
  test('a text without directives is not a script, whatever headings and tags it holds', () => {
    expect(parseScript('# Title\nplease #help me\n#hashtag')).toBeUndefined();
  });

  test('each line is a step and + joins a line to the step above', () => {
    expect(steps('#say a', 'prose between', '#tool bash {"command":"ls"}', '#+tool bash {}', '#say b')).toEqual([
      ['say'],
      ['tool', 'tool'],
      ['say'],
    ]);
  });

  test('lines without an answer of their own lead into the next line', () => {
    expect(steps('#hold gate before', '#think hm', '#delay 5', '#usage 3 4', '#say a', '#say b')).toEqual([
      ['hold', 'think', 'delay', 'usage', 'say'],
      ['say'],
    ]);
  });

  test('an error or a cut for some calls leads into the next line, one for every call does not', () => {
    expect(steps('#error 503 times=2 busy', '#say ok')).toEqual([['error', 'say']]);
    expect(steps('#error 400 nope', '#say never')).toEqual([['error'], ['say']]);
    expect(steps('#cut 3 times=1', '#say ok')).toEqual([['cut', 'say']]);
  });

  test('the words of a directive are read by place, times= from anywhere', () => {
    const script = parseScript(
      ['#callid call_0', '#error 503 times=2 too busy', '#+cut 4 reset', '#+hold h after 7'].join('\n'),
    );

    expect(script).toEqual({
      callId: 'call_0',
      steps: [
        [
          { do: 'error', status: 503, message: 'too busy', times: 2 },
          { do: 'cut', afterTokens: 4, reset: true, times: Number.POSITIVE_INFINITY },
          { do: 'hold', name: 'h', at: 7, times: Number.POSITIVE_INFINITY },
        ],
      ],
    });
  });

  test('\\n in a text is a line break', () => {
    expect(parseScript('#say one\\ntwo')?.steps).toEqual([[{ do: 'say', text: 'one\ntwo' }]]);
  });

  test.each([
    '#say ok\n#sya typo',
    '#tokens many',
    '#tokens -1',
    '#tool bash {"x":',
    '#error 200 fine',
    '#hold',
    '#hold h soon',
  ])('the malformed script %j is refused by name', (text) => {
    expect(() => parseScript(text)).toThrow(ScriptError);
  });
});
