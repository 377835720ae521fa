import { diffRows } from './diff-rows.js';

const DIFF = `--- /mnt/user-data/outputs/a.txt
+++ /mnt/user-data/outputs/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
@@ -10,1 +10,2 @@
 ten
+--- not a name
\\ No newline at end of file
`;

describe('diffRows', () => {
  test('lines have their numbers before and after, and names of files are left out', () => {
    expect(diffRows(DIFF)).toEqual([
      { kind: 'hunk', text: '@@ -1,3 +1,3 @@' },
      { kind: 'same', before: 1, after: 1, text: 'one' },
      { kind: 'removed', before: 2, text: 'two' },
      { kind: 'added', after: 2, text: '2' },
      { kind: 'same', before: 3, after: 3, text: 'three' },
      { kind: 'hunk', text: '@@ -10,1 +10,2 @@' },
      { kind: 'same', before: 10, after: 10, text: 'ten' },
      { kind: 'added', after: 11, text: '--- not a name' },
      { kind: 'note', text: 'No newline at end of file' },
    ]);
  });

  test('an empty diff has no rows, and a long line is cut', () => {
    expect(diffRows('')).toEqual([]);
    const [, row] = diffRows(`@@ -0,0 +1 @@\n+${'x'.repeat(10_000)}`);
    expect(row?.text).toHaveLength(2_001);
  });
});
