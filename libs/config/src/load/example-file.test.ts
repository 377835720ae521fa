import { join } from 'node:path';
import { expectGenerated } from '@caribou/testing';
import { exampleFile } from './example-file.js';
import { loadConfig } from '../index.js';

const root = join(__dirname, '../../../..');

describe('config.example.yaml', () => {
  test('is the text that the schema gives', () => {
    expectGenerated(join(root, 'config.example.yaml'), exampleFile());
  });

  test('loads as it is, changes nothing and warns of nothing', () => {
    const { origins: _file, ...example } = loadConfig({ CARIBOU_CONFIG: join(root, 'config.example.yaml') }, '/');
    const { origins: _none, ...defaults } = loadConfig({ CARIBOU_CONFIG: '/dev/null' }, '/');
    expect(example).toEqual(defaults);
    expect(example.warnings).toEqual([]);
  });

  test('has a description of each key', () => {
    expect(exampleFile()).not.toContain('undefined');
  });
});
