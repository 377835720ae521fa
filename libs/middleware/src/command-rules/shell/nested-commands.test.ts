import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { commandsIn, nameOf } from './nested-commands.js';
import { createReading, tokensOf } from './read-script.js';

/** What a real shell does is the measure here. */
const bash = (script: string): string =>
  spawnSync('bash', ['-c', script], { encoding: 'utf8', timeout: 20_000, input: '' }).stdout;

/** The same scripts each time: another shell's oddities are not to be found by chance. */
const SEED = 20_261_122;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

describe(tokensOf, () => {
  test('a word is read as bash reads it, however it is quoted', () => {
    const piece = fc.constantFrom(
      ...['a', "'x y'", '"q r"', '\\z', '\\ ', "$'\\x41\\n\\t\\''", '""', "''", '\\\n', '"a\\"b\\$c\\`d\\x"', '=', '#'],
      ...["'\"'", '"\'"', '%', '"$"', '"$\'x\'"', '$"l"', '~x', '@', 'é', "$'\\u20ac'", '"a\\\nb"'],
    );
    const word = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => `X${pieces.join('')}`);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
        const text = `printf '%s\\0' ${words.join(' ')}`;
        const read = tokensOf(text, createReading()).flatMap((token) =>
          token.kind === 'word' ? [token.word.text] : [],
        );
        expect(read.slice(2)).toEqual(bash(text).split('\0').slice(0, -1));
      }),
      { numRuns: 60, seed: SEED },
    );
  });
});

/** Scripts in which `danger` is executed or is only text; each reports which when it is executed. */
const { script } = fc.letrec<{ script: string }>((tie) => {
  const inner = tie('script');
  return {
    script: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        'danger',
        "'dan'ger",
        '\\danger',
        '"danger"',
        "$'\\x64anger'",
        'builtin eval danger',
        'A=1 danger',
      ),
      fc.constantFrom(
        'echo danger',
        "echo 'x; danger'",
        'true # danger',
        'echo "$" danger',
        'A=danger',
        '[[ danger ]]',
      ),
      fc.constantFrom(
        'echo \\; danger',
        'case danger in danger) ;; esac',
        'for danger in 1; do true; done',
        '(( 1 << 2 ))',
      ),
      fc.constantFrom(
        "cat <<'E'\n$(danger)\nE\n",
        'cat <<E\ndanger "it\'s"\nE\n',
        'cat <<-E\n\tdanger\n\tE\n',
        ': ${x:-danger}',
      ),
      inner.map((text) => `true && { ${text}\n}`),
      inner.map((text) => `( ${text}\n)`),
      inner.map((text) => `if true; then ${text}\nfi`),
      inner.map((text) => `for i in 1 'b c'; do ${text}\nbreak; done`),
      inner.map((text) => `case x in (y) false;; x|z) ${text}\n;; esac`),
      inner.map((text) => `f() { ${text}\n}; f`),
      inner.map((text) => `function g { ${text}\n}\ng`),
      inner.map((text) => `echo "a $( ${text}\n) b"`),
      inner.map((text) => `x=$( ${text}\n)`),
      inner.map((text) => `echo \${y:-$( ${text}\n)}`),
      inner.map((text) => `cat <<E\n$( ${text}\n) it's\nE\n`),
      inner.map((text) => `eval ${quoted(text)}`),
      inner.map((text) => `builtin eval ${quoted(text)} # danger`),
      inner.map((text) => `: \`eval ${quoted(text).replace(/[\\`$]/g, '\\$&')}\``),
      inner.map((text) => `true | { ${text}\n} | cat`),
      inner.map((text) => `cat <( ${text}\n)`),
      inner.map((text) => `until ${text}\ntrue; do break; done`),
      fc.tuple(inner, inner).map(([one, two]) => `${one}\n${two}`),
    ),
  };
});

describe(commandsIn, () => {
  test('a command is found where bash runs it, and nowhere else', () => {
    fc.assert(
      fc.property(script, (text) => {
        const ran = bash(`danger() { echo DANGER >&9; }; exec 9>&1 >/dev/null 2>&1\n${text}`).includes('DANGER');
        const { commands, complete } = commandsIn(text);
        const found = commands.map(nameOf).includes('danger');
        // A script with something that has no end is read more strictly than bash does.
        expect([text, found]).toEqual([text, ran || (!complete && found)]);
      }),
      { numRuns: 150, seed: SEED },
    );
  });
});
