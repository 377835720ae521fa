import { showDirections } from './show-directions.js';
import { findSettings, settingRows } from './config-rows.js';

const config = {
  http: { port: 2026, corsOrigins: [], apiKeys: [{ key: '[secret]', userId: 'alice' }] },
  chain: { memory: { enabled: true, model_name: null }, extensions: {} },
  logLevel: 'info',
};

describe(settingRows, () => {
  test('has a row for each value, lists of plain values as one, with the part that has a source', () => {
    expect(settingRows(config)).toEqual([
      { path: 'http.port', part: 'http', value: '2026' },
      { path: 'http.corsOrigins', part: 'http', value: '[]' },
      { path: 'http.apiKeys[0].key', part: 'http', value: '[secret]' },
      { path: 'http.apiKeys[0].userId', part: 'http', value: 'alice' },
      { path: 'chain.memory.enabled', part: 'chain.memory', value: 'true' },
      { path: 'chain.memory.model_name', part: 'chain.memory', value: 'null' },
      { path: 'chain.extensions', part: 'chain.extensions', value: '{}' },
      { path: 'logLevel', part: 'logLevel', value: 'info' },
    ]);
  });

  test('is bounded', () => {
    const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`k${at}`, at]));
    expect(settingRows({ many })).toHaveLength(5_000);
  });
});

describe(findSettings, () => {
  test('finds rows with all parts, in paths and values', () => {
    const rows = settingRows(config);
    expect(findSettings(rows, 'MEMORY enabled').map(({ path }) => path)).toEqual(['chain.memory.enabled']);
    expect(findSettings(rows, 'alice').map(({ path }) => path)).toEqual(['http.apiKeys[0].userId']);
    expect(findSettings(rows, ' ')).toHaveLength(rows.length);
    expect(findSettings(rows, 'nothing')).toEqual([]);
  });
});

describe(showDirections, () => {
  test('shows the characters that would turn a text around', () => {
    expect(showDirections('invoice\u202Egnp.exe')).toBe('invoice⟨U+202E⟩gnp.exe');
    expect(showDirections('مرحبا')).toBe('مرحبا');
  });
});
