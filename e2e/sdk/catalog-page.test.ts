import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calls, callsOfSdk, fields, fieldsOfSdk, renderTables } from './catalog/catalog.js';

const page = join(__dirname, '../../docs/clients.md');
const BEGIN = '<!-- tables of e2e/sdk/catalog: npm run generate -->\n';
const END = '<!-- end of the tables -->';

const namesOf = (entries: readonly { readonly name: string }[]) => entries.map(({ name }) => name).sort();

describe('docs/clients.md', () => {
  test('every call of the client of the SDK is either proved to work or proved to be refused', () => {
    expect(namesOf(calls)).toEqual(callsOfSdk().sort());
  });

  test('so is every option of a run in the types of the SDK', () => {
    expect(fieldsOfSdk().length).toBeGreaterThan(20);
    expect(namesOf(fields)).toEqual(fieldsOfSdk().sort());
  });

  test('shows the tables that the catalogue gives', () => {
    const text = readFileSync(page, 'utf8');
    const [before = '', rest = ''] = text.split(BEGIN);
    const after = rest.slice(rest.indexOf(END));
    const expected = `${before}${BEGIN}${renderTables()}\n${after}`;
    if (process.env['WRITE_GENERATED'] === '1') writeFileSync(page, expected);
    else if (text !== expected) throw new Error('docs/clients.md is out of date: run "npm run generate"');
  });
});
