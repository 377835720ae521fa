import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleFile } from './example-file.js';
import { loadConfig } from '../index.js';

const root = join(__dirname, '../../../..');

describe('config.example.yaml', () => {
  test('is the text the schema gives; when it is not, replace it by the expected text', () => {
    expect(readFileSync(join(root, 'config.example.yaml'), 'utf8')).toBe(exampleFile());
  });

  test('loads as it is, changes nothing and warns of nothing', () => {
    const example = loadConfig({ CARIBOU_CONFIG: join(root, 'config.example.yaml') }, '/');
    expect(example).toEqual(loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/'));
    expect(example.warnings).toEqual([]);
  });

  test('has a description of each key', () => {
    expect(exampleFile()).not.toContain('undefined');
  });
});
