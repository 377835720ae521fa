/**
 * jsdom's objects are watched by their own registry: jest's marking of left-over globals would only warn about it.
 *
 * @jest-environment-options {"globalsCleanup": "off"}
 */
import { page } from './page-window.js';
import { cleanup, fireEvent, render, screen, waitFor as waitForPage } from '@testing-library/react';
import { useState } from 'react';
import { useStream } from 'langgraph-sdk-1-15/react';
import { nonce, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ config: 'approvals:\n  rules: [{id: shell, tools: [bash]}]\n' });
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
});
afterAll(() => stack.stop());
afterEach(() => cleanup());

interface Asked {
  readonly actionRequests: readonly { readonly name: string; readonly args: { readonly command: string } }[];
  readonly reviewConfigs: readonly { readonly allowedDecisions: readonly string[] }[];
}
interface Chat {
  readonly messages: readonly { readonly id?: string; readonly type: string; readonly content: unknown }[];
  readonly isLoading: boolean;
  readonly interrupt?: { readonly id: string; readonly value: Asked };
  submit(values: unknown, options?: object): unknown;
}

/** A page as LangChain's guides write it: it shows the call that waits, and sends a decision. */
function ApprovalPage({ apiUrl, script }: { readonly apiUrl: string; readonly script: string }) {
  const [threadId, setThreadId] = useState<string | null>(null);
  const options = { assistantId: 'lead_agent', apiUrl, threadId, onThreadId: setThreadId };
  const chat = (useStream as unknown as (given: object) => Chat)(options);
  const asked = chat.interrupt?.value;
  const decide = (decision: object) => () =>
    void chat.submit(undefined, { command: { resume: { decisions: [decision] } } });
  const editedAction = { name: 'bash', args: { description: 'a test', command: 'echo from a person' } };
  return (
    <main>
      <p role="status">{chat.isLoading ? 'working' : 'ready'}</p>
      {asked === undefined ? null : (
        <p role="note">
          {asked.actionRequests[0]?.args.command} {asked.reviewConfigs[0]?.allowedDecisions.join(',')}
        </p>
      )}
      <ol>
        {chat.messages.map(({ id, type, content }) => (
          <li key={id}>{`${type}: ${String(content)}`}</li>
        ))}
      </ol>
      <button onClick={() => void chat.submit({ messages: [{ type: 'human', content: script }] })}>Start</button>
      <button onClick={decide({ type: 'approve' })}>Approve</button>
      <button onClick={decide({ type: 'edit', editedAction })}>Edit</button>
      <button onClick={decide({ type: 'reject', message: 'not now' })}>Reject</button>
    </main>
  );
}

const eventually = (check: () => void): Promise<void> => waitForPage(check, { timeout: 30_000 });
const texts = (): readonly (string | null)[] => screen.queryAllByRole('listitem').map(({ textContent }) => textContent);

test.each([
  ['Approve', 'tool: from the model\n'],
  ['Edit', expect.stringContaining('tool: from a person\n')],
  ['Reject', expect.stringContaining('not now')],
])('useStream shows the call that waits, and %s continues the run', async (button, result) => {
  page.window.sessionStorage.clear();
  const command = 'echo from the model';
  const script = `${nonce()}\n#tool bash ${JSON.stringify({ description: 'a test', command })}\n#say bye`;
  render(<ApprovalPage apiUrl={stack.client().base} script={script} />);
  fireEvent.click(screen.getByText('Start'));
  await eventually(() => expect(screen.getByRole('note').textContent).toBe(`${command} approve,edit,reject`));
  fireEvent.click(screen.getByText(button));
  await eventually(() => expect(texts().at(-1)).toBe('ai: bye'));
  expect(texts().at(-2)).toEqual(result);
  await eventually(() => expect(screen.queryByRole('note')).toBeNull());
});
