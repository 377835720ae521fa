import { compileFunction, type Context, createContext } from 'node:vm';

/** A function of this code in a context, as jest compiles that of a file. */
const compiled = (code: string, context: Context): ((given?: string) => unknown) =>
  compileFunction(code, ['given'], { filename: '/nowhere/file.js', parsingContext: context }) as () => unknown;

describe('the code of a file, compiled in the environment of tests', () => {
  test('has the globals and the state of each test file that loads it', () => {
    const code = 'let count = 0; return () => [where, given, (count += 1)];';
    const one = compiled(code, createContext({ where: 'one' }))('first') as () => unknown;
    const other = compiled(code, createContext({ where: 'other' }))('second') as () => unknown;

    expect([one(), one(), other()]).toEqual([
      ['one', 'first', 1],
      ['one', 'first', 2],
      ['other', 'second', 1],
    ]);
  });

  test('is compiled again when it has changed', () => {
    const context = createContext();

    expect(compiled('return 1;', context)()).toBe(1);
    expect(compiled('return 2;', context)()).toBe(2);
  });

  test('appears in stack traces where it is in the file', () => {
    const context = createContext({ Error });

    expect(compiled('return new Error("x").stack;', context)()).toContain('/nowhere/file.js:1:8');
    expect(compiled('\n  return new Error("x").stack;', context)()).toContain('/nowhere/file.js:2:10');
  });
});
