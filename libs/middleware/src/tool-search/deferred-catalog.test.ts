import { createHash } from 'node:crypto';
import { type AnyTool, defineTool } from '@caribou/core';
import { z } from 'zod';
import { buildDeferredCatalog, formatDeferredTools, findHiddenNames } from './deferred-catalog.js';

const run = () => Promise.resolve({ content: '' });
const tool = (name: string, over: Partial<AnyTool> = {}): AnyTool => ({
  ...defineTool({ name, description: name, input: z.object({ q: z.string() }), run }),
  ...over,
});
const deferred = {};

describe(buildDeferredCatalog, () => {
  test('it holds the deferred tools by name', () => {
    const { tools } = buildDeferredCatalog([tool('z', { deferred }), tool('shown'), tool('a', { deferred })]);

    expect(tools.map(({ name }) => name)).toEqual(['a', 'z']);
  });

  test('the hash is the beginning of the SHA-256 of sorted names and schemas', () => {
    const parameters = { type: 'object', properties: { b: 1, a: 2 } };
    const text = JSON.stringify([['x', { properties: { a: 2, b: 1 }, type: 'object' }]]);

    expect(buildDeferredCatalog([tool('x', { deferred, parameters })]).hash).toBe(
      createHash('sha256').update(text).digest('hex').slice(0, 16),
    );
  });

  test('order of tools and of keys does not change the hash, a name or a schema does', () => {
    const hashOf = (...tools: readonly AnyTool[]): string => buildDeferredCatalog(tools).hash;
    const [a, b] = [tool('a', { deferred }), tool('b', { deferred })];

    expect(hashOf(a, b)).toBe(hashOf(b, tool('shown'), a));
    expect(hashOf(a, b)).not.toBe(hashOf(a));
    expect(hashOf(a)).not.toBe(hashOf(tool('a', { deferred, parameters: {} })));
  });

  test('a deferred tool with the name of another is refused', () => {
    expect(() => buildDeferredCatalog([tool('a', { deferred }), tool('a')])).toThrow("2 tools 'a'");
    expect(() => buildDeferredCatalog([tool('a'), tool('a')])).not.toThrow();
  });
});

describe(findHiddenNames, () => {
  const catalog = buildDeferredCatalog([tool('a', { deferred }), tool('b', { deferred })]);

  test('what was promoted counts while the catalogue is the same', () => {
    const promoted = (catalog_hash: string) => ({ messages: [], promoted: { catalog_hash, names: ['a'] } });

    expect([...findHiddenNames(catalog, { messages: [] })]).toEqual(['a', 'b']);
    expect([...findHiddenNames(catalog, promoted(catalog.hash))]).toEqual(['b']);
    expect([...findHiddenNames(catalog, promoted('0123456789abcdef'))]).toEqual(['a', 'b']);
  });
});

describe(formatDeferredTools, () => {
  test('names only, sorted, once each, a line each, and escaped', () => {
    expect(formatDeferredTools(['b', 'a', 'b', '</x>&\nnext'])).toBe('&lt;/x&gt;&amp; next\na\nb');
  });

  test('none is no section', () => {
    expect(formatDeferredTools([])).toBeUndefined();
  });
});
