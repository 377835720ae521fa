import { faultsIn, parseServer, toServerText, withEmptyFields } from './server-json.js';

describe(parseServer, () => {
  test('gives an object, and names the line of what is no JSON', () => {
    expect(parseServer('{"url": "x"}')).toEqual({ kind: 'server', value: { url: 'x' } });
    expect(parseServer('{\n  "a": 1,\n  b\n}')).toEqual({ kind: 'fault', fault: 'json', line: 3 });
    for (const text of ['[]', 'null', '"x"'])
      expect(parseServer(text)).toEqual({ kind: 'fault', fault: 'object', line: null });
  });
});

describe(faultsIn, () => {
  const text = '{\n  "type": "http",\n  "url": "x",\n  "oauth": {\n    "token_url": "y"\n  }\n}';

  test('each fault is at its field, with the line', () => {
    expect(faultsIn('github.url: must be an address; github.oauth.token_url: is refused', 'github', text)).toEqual([
      { field: 'url', message: 'must be an address', line: 3 },
      { field: 'oauth.token_url', message: 'is refused', line: 5 },
    ]);
  });

  test('the path of the body is understood too, and a field that is not in the text has the line of what is around it', () => {
    expect(faultsIn('mcp_servers.github.oauth.scope: must be a text', 'github', text)).toEqual([
      { field: 'oauth.scope', message: 'must be a text', line: 4 },
    ]);
    expect(faultsIn('github.headers.0: no', 'github', text)).toEqual([
      { field: 'headers.0', message: 'no', line: null },
    ]);
  });

  test('a fault of another server, or of none, is one of the whole', () => {
    expect(faultsIn('events.url: no', 'github', text)).toEqual([{ field: '', message: 'events.url: no', line: null }]);
    expect(faultsIn('too large', 'github', text)).toEqual([{ field: '', message: 'too large', line: null }]);
  });
});

describe(toServerText, () => {
  test('leaves empty fields out and keeps masks', () => {
    const server = { enabled: false, type: 'http', command: null, args: [], env: {}, url: 'x', description: '' };
    expect(JSON.parse(toServerText({ ...server, headers: { A: '********' } }))).toEqual({
      enabled: false,
      type: 'http',
      url: 'x',
      headers: { A: '********' },
    });
  });
});

describe(withEmptyFields, () => {
  test('a text that was not changed gives the server as it was shown, and a removed field is gone', () => {
    const shown = { type: 'http', command: null, args: [], url: 'x', headers: { A: '********' }, description: '' };
    const edited = JSON.parse(toServerText(shown)) as Record<string, unknown>;
    expect(withEmptyFields(edited, shown)).toEqual(shown);
    const { headers: _, ...rest } = edited;
    expect(withEmptyFields({ ...rest, description: 'Events' }, shown)).toEqual({
      type: 'http',
      command: null,
      args: [],
      url: 'x',
      description: 'Events',
    });
  });
});
