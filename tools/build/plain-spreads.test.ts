import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const plainSpreads = pathToFileURL(join(__dirname, 'plain-spreads.mjs')).href;

/** Returns each code as `plainSpreads` converts it, by default for a V8 that needs the conversion. */
function converted(codes: readonly string[], copiesSlowly = true): readonly string[] {
  const program = `import { plainSpreads } from ${JSON.stringify(plainSpreads)};
    const [, codes, copiesSlowly] = JSON.parse(process.argv[1]);
    console.log(JSON.stringify(codes.map((code) => plainSpreads(code, copiesSlowly))));`;
  const args = ['--input-type=module', '-e', program, JSON.stringify(['', codes, copiesSlowly])];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[];
}

describe('object literals that begin with a spread', () => {
  test('begin with one that copies nothing, also within each other', () => {
    const code = 'const a = {...b, c: {\n ...d, e: 1 }, ...f};';
    expect(converted([code])).toEqual(['const a = {...null,...b, c: {...null,\n ...d, e: 1 }, ...f};']);
  });

  test('copies, patterns, calls and texts stay as they are', () => {
    const codes = [
      'const a = { ...b };',
      'const { c, ...d } = e; function f({ ...g }, ...h) {}',
      'f(...a, b); [...a, b];',
      'const text = "{ ...a, b: 1 }";',
      'const a = { b: 1, ...c };',
    ];
    expect(converted(codes)).toEqual(codes);
  });

  test('code means the same', () => {
    const code = '({ ...{ a: 1, ["__proto__"]: 2 }, b: 3, a: 4 })';
    const [now = ''] = converted([code]);
    const [before, after] = [code, now].map((text) => Object.entries(eval(text) as object));
    expect(after).toEqual(before);
    expect(now).not.toBe(code);
  });

  test('nothing is changed for a V8 that copies fast', () => {
    expect(converted(['a = {...b, c: 1};'], false)).toEqual(['a = {...b, c: 1};']);
  });
});
