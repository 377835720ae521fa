import { execFileSync } from 'node:child_process';
import { HEAP_GROWTH_FLAG } from './heap-growth.js';

test('this version of Node has the flag: V8 ignores one that it does not know', () => {
  const [name = ''] = HEAP_GROWTH_FLAG.split('=');
  expect(execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })).toContain(`${name} (`);
});
