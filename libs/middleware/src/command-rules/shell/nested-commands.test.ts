import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { commandsIn, nameOf } from './nested-commands.js';
import { createReading, tokensOf } from './read-script.js';

const END = '<end of a script>';

/**
 * What a real shell prints for each script: it is the measure here. One small process starts them all, as a process with the
 * memory of a test worker starts others slowly.
 */
function outputsOfBash(scripts: readonly string[]): readonly string[] {
  const all = `while IFS= read -r -d '' script; do bash -c "$script" </dev/null; printf '%s' "$0"; done`;
  const input = scripts.map((script) => `${script}\0`).join('');
  const { stdout } = spawnSync('bash', ['-c', all, END], { encoding: 'utf8', timeout: 50_000, input });
  const outputs = stdout.split(END).slice(0, -1);
  expect(outputs).toHaveLength(scripts.length);
  return outputs;
}

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
    const lists = fc.sample(fc.array(word, { minLength: 1, maxLength: 20 }), { numRuns: 60, seed: SEED });
    const texts = lists.map((words) => `printf '%s\\0' ${words.join(' ')}`);

    const read = texts.map((text) =>
      tokensOf(text, createReading()).flatMap((token) => (token.kind === 'word' ? [token.word.text] : [])),
    );

    expect(read.map((words) => words.slice(2))).toEqual(
      outputsOfBash(texts).map((output) => output.split('\0').slice(0, -1)),
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
    const scripts = fc.sample(script, { numRuns: 150, seed: SEED });
    const found = scripts.map((text) => {
      const { commands, complete } = commandsIn(text);
      return { isFound: commands.map(nameOf).includes('danger'), complete };
    });

    const outputs = outputsOfBash(
      scripts.map((text) => `danger() { echo DANGER >&9; }; exec 9>&1 >/dev/null 2>&1\n${text}`),
    );

    // A script with something that has no end is read more strictly than bash does.
    const expected = found.map(
      ({ isFound, complete }, at) => Boolean(outputs[at]?.includes('DANGER')) || (!complete && isFound),
    );
    const shown = (verdicts: readonly boolean[]) => verdicts.map((isDanger, at) => [scripts[at], isDanger]);
    expect(shown(found.map(({ isFound }) => isFound))).toEqual(shown(expected));
    expect(new Set(expected)).toEqual(new Set([true, false]));
  });
});
