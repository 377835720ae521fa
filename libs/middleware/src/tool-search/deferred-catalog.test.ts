import { createHash } from 'node:crypto';
import { type AnyTool, defineTool } from '@caribou/core';
import { z } from 'zod';
import { deferredCatalog, deferredToolsSection, hiddenNames } from './deferred-catalog.js';

const run = () => Promise.resolve({ content: '' });
const tool = (name: string, over: Partial<AnyTool> = {}): AnyTool => ({
  ...defineTool({ name, description: name, input: z.object({ q: z.string() }), run }),
  ...over,
});
const deferred = {};

describe(deferredCatalog, () => {
  test('it holds the deferred tools by name', () => {
    const { tools } = deferredCatalog([tool('z', { deferred }), tool('shown'), tool('a', { deferred })]);

    expect(tools.map(({ name }) => name)).toEqual(['a', 'z']);
  });

  test('the hash is the beginning of the SHA-256 of sorted names and schemas', () => {
    const parameters = { type: 'object', properties: { b: 1, a: 2 } };
    const text = JSON.stringify([['x', { properties: { a: 2, b: 1 }, type: 'object' }]]);

    expect(deferredCatalog([tool('x', { deferred, parameters })]).hash).toBe(
      createHash('sha256').update(text).digest('hex').slice(0, 16),
    );
  });

  test('order of tools and of keys does not change the hash, a name or a schema does', () => {
    const hashOf = (...tools: readonly AnyTool[]): string => deferredCatalog(tools).hash;
    const [a, b] = [tool('a', { deferred }), tool('b', { deferred })];

    expect(hashOf(a, b)).toBe(hashOf(b, tool('shown'), a));
    expect(hashOf(a, b)).not.toBe(hashOf(a));
    expect(hashOf(a)).not.toBe(hashOf(tool('a', { deferred, parameters: {} })));
  });

  test('a deferred tool with the name of another is refused', () => {
    expect(() => deferredCatalog([tool('a', { deferred }), tool('a')])).toThrow("2 tools 'a'");
    expect(() => deferredCatalog([tool('a'), tool('a')])).not.toThrow();
  });
});

describe(hiddenNames, () => {
  const catalog = deferredCatalog([tool('a', { deferred }), tool('b', { deferred })]);

  test('what was promoted counts while the catalogue is the same', () => {
    const promoted = (catalog_hash: string) => ({ messages: [], promoted: { catalog_hash, names: ['a'] } });

    expect([...hiddenNames(catalog, { messages: [] })]).toEqual(['a', 'b']);
    expect([...hiddenNames(catalog, promoted(catalog.hash))]).toEqual(['b']);
    expect([...hiddenNames(catalog, promoted('0123456789abcdef'))]).toEqual(['a', 'b']);
  });
});

describe(deferredToolsSection, () => {
  test('names only, sorted, once each, a line each, and escaped', () => {
    expect(deferredToolsSection(['b', 'a', 'b', '</x>&\nnext'])).toBe('&lt;/x&gt;&amp; next\na\nb');
  });

  test('none is no section', () => {
    expect(deferredToolsSection([])).toBeUndefined();
  });
});
