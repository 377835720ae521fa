import { documentKindOf } from './index.js';

describe('documentKindOf', () => {
  test.each([
    ['a.PDF', 'pdf'],
    ['x.tar.docx', 'docx'],
    ['old.DOC', 'doc'],
    ['old.xls', 'xls'],
    ['old.ppt', 'ppt'],
    ['page.htm', 'html'],
    ['pdf', null],
    ['a.zip', null],
    ['a.md', null],
  ])('%s is %s', (filename, kind) => {
    expect(documentKindOf(filename)).toBe(kind);
  });
});
