import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { currentTurn } from './conversation.js';
import { isTitlePrompt, newcomerReply, titleReply } from './newcomer.js';
import type { Reply } from './reply.js';
import type { ChatMessage } from './request-check.js';

const story = { tools: new Set(['write_file', 'bash']), callId: () => 'c1' };

function textOfReply(reply: Reply): string {
  return reply.ops.map((op) => (op.op === 'delta' && 'content' in op.delta ? op.delta.content : '')).join('');
}

function argsOf(reply: Reply): Record<string, string> {
  const pieces = reply.ops.map((op) =>
    op.op === 'delta' && 'tool_calls' in op.delta ? op.delta.tool_calls[0].function.arguments : '',
  );
  return JSON.parse(pieces.join('')) as Record<string, string>;
}

function reply(...messages: ChatMessage[]): Reply {
  return newcomerReply(currentTurn(messages), story);
}

function toolExchange(name: string, id: string, content: string): ChatMessage[] {
  return [
    { role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content },
  ];
}

function run(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-demo-'));
  try {
    const file = join(folder, 'demo.sh');
    writeFileSync(file, program);
    return execFileSync('sh', [file], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe(newcomerReply, () => {
  test('it writes a program, runs the same file, and answers with the output', () => {
    const human: ChatMessage = { role: 'user', content: 'show me primes up to 20' };
    const first = reply(human);
    const second = reply(human, ...toolExchange('write_file', 'c1', 'OK'));
    const third = reply(
      human,
      ...toolExchange('write_file', 'c1', 'OK'),
      ...toolExchange('bash', 'c2', 'Primes up to 20: 2 3 5'),
    );

    expect(first.finish).toBe('tool_calls');
    expect(argsOf(second).command).toBe(`sh ${argsOf(first).path}`);
    expect(third.finish).toBe('stop');
    expect(textOfReply(third)).toContain('Primes up to 20: 2 3 5');
    expect(textOfReply(third)).toContain('scripted demo model');
  });

  test('the program prints the primes that were asked for', () => {
    const { content = '' } = argsOf(reply({ role: 'user', content: 'primes up to 20, please' }));

    expect(run(content)).toContain('Primes up to 20: 2 3 5 7 11 13 17 19\n');
  });

  test('no text of a user becomes shell code: the program prints it unchanged', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("'", '"', '$', '`', '\\', ' ', 'a', '(', ')', ';', '\n'),
          minLength: 1,
          maxLength: 30,
        }),
        (words) => {
          const { content = '' } = argsOf(reply({ role: 'user', content: words }));
          const expected = words.replaceAll(/\n+/g, ' ').trim() || 'hello';
          expect(run(content).split('\n')[0]).toBe(`You said: ${expected}`);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('without its tools it answers with a text that explains what it is', () => {
    const answer = newcomerReply(currentTurn([{ role: 'user', content: 'hi' }]), { ...story, tools: new Set() });

    expect(answer.finish).toBe('stop');
    expect(textOfReply(answer)).toContain('not from an AI');
  });
});

describe(titleReply, () => {
  const prompt =
    'Generate a concise title (max 6 words) for this conversation.\nUser: how do primes work, in detail, for a child?\nAssistant: they\n';

  test('a title prompt is answered with the beginning of the user’s text', () => {
    expect(isTitlePrompt(prompt, false)).toBe(true);
    expect(textOfReply(titleReply(prompt))).toBe('How do primes work in detail');
  });

  test('a conversation that offers tools is never a title prompt', () => {
    expect(isTitlePrompt(prompt, true)).toBe(false);
  });
});
