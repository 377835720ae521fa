import { newId } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { ai, humanMessage } from '@caribou/testing';
import { type Listed, useApprovals } from '../testing/approvals-fixture.js';

const { gateways, runner, send, runUntil, auditOf } = useApprovals();

describe('a question that ended its run', () => {
  const QUESTION = {
    version: 1,
    kind: 'human_input_request',
    source: 'ask_clarification',
    request_id: 'clarification:call_q',
    question: 'Which one?',
    input_mode: 'choice_with_other',
    options: [{ id: 'option-1', label: 'red', value: 'red' }],
  };

  async function questionedThread(): Promise<string> {
    const { body } = await send<{ thread_id: string }>('/threads', {});
    const threadId = body.thread_id;
    await send(`/threads/${threadId}/runs`, {
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: 'x' }] },
    });
    const claimed = await runner().claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { lease, head } = claimed;
    const asks = { name: 'ask_clarification', args: {}, id: 'call_q', type: 'tool_call' as const };
    const asked = {
      ...{ type: 'tool' as const, id: 'clarification:call_q', content: '❓ Which one?', name: 'ask_clarification' },
      ...{ tool_call_id: 'call_q', status: 'success' as const, additional_kwargs: {}, response_metadata: {} },
      artifact: { human_input: QUESTION },
    };
    const state = applyUpdate(head.state, { messages: [humanMessage('x'), { ...ai(''), tool_calls: [asks] }, asked] });
    await runner().finish(lease, {
      status: 'success',
      events: [],
      commit: { head, state, next: [], source: 'loop', step: 1, events: [] },
    });
    return threadId;
  }

  test('is listed among what waits, while the thread is shown as before', async () => {
    const threadId = await questionedThread();
    const thread = await send<{ status: string; interrupts: object }>(`/threads/${threadId}`);
    expect(thread.body).toMatchObject({ status: 'idle', interrupts: {} });
    const { body } = await send<readonly { interrupt_id: string }[]>(`/threads/${threadId}/approvals`);
    expect(body).toMatchObject([{ kind: 'question', value: QUESTION, run_id: null, may_decide: true }]);
    const all = await send<Listed>('/approvals?limit=100');
    expect(all.body.approvals.map(({ thread_id: id }) => id)).toContain(threadId);
  });

  test.each<[string, (id: string) => readonly [string, object]]>([
    ['command.resume', () => ['runs', { assistant_id: 'lead_agent', command: { resume: 'red' } }]],
    ['command.resume by id', (id) => ['runs', { assistant_id: 'lead_agent', command: { resume: { [id]: 'red' } } }]],
    ['the route', (id) => [`approvals/${id}`, { answer: 'red' }]],
  ])('is answered once by %s, as by the message of a web client', async (_, requestOf) => {
    const threadId = await questionedThread();
    const { body } = await send<readonly { interrupt_id: string }[]>(`/threads/${threadId}/approvals`);
    const [path, payload] = requestOf(body[0]?.interrupt_id ?? '');
    const pressed = await Promise.all(
      [...gateways()].map((via) => send<{ run_id: string }>(`/threads/${threadId}/${path}`, payload, { via })),
    );
    const taken = pressed.find(({ status }) => status === 200);
    expect(pressed.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);

    const kwargs = await runUntil('alice', threadId, []);
    expect(kwargs).toMatchObject({
      input: {
        messages: [
          {
            type: 'human',
            content: 'red',
            additional_kwargs: {
              human_input_response: {
                ...{ version: 1, kind: 'human_input_response', source: 'ask_clarification' },
                ...{ request_id: 'clarification:call_q', value: 'red', response_kind: 'option', option_id: 'option-1' },
              },
            },
          },
        ],
      },
    });
    expect((await send(`/threads/${threadId}/${path}`, payload)).status).toBe(409);
    const line = { operation: 'answer', verdict: 'answer', what: 'Which one?', answer: 'red', decided_by: 'alice' };
    const id = body[0]?.interrupt_id;
    expect(await auditOf(threadId)).toMatchObject([{ ...line, interrupt_id: id, run_id: taken?.body.run_id }]);
    const all = await send<Listed>('/approvals?limit=100');
    expect(all.body.approvals.map(({ thread_id: id }) => id)).not.toContain(threadId);
  });

  test('the message of a web client that names the question is in the audit; other messages are not', async () => {
    const response = {
      ...{ version: 1, kind: 'human_input_response', source: 'ask_clarification', response_kind: 'text' },
      ...{ request_id: 'clarification:call_q', value: 'blue' },
    };
    const says = async (threadId: string, kwargs?: object) => {
      const messages = [{ type: 'human', content: 'blue', ...(kwargs && { additional_kwargs: kwargs }) }];
      const sent = await send(`/threads/${threadId}/runs`, { assistant_id: 'lead_agent', input: { messages } });
      expect(sent.status).toBe(200);
      return await auditOf(threadId);
    };
    const answer = { operation: 'answer', what: 'Which one?', answer: 'blue', decided_by: 'alice' };
    const answered = await questionedThread();
    expect(await says(answered, { human_input_response: response })).toMatchObject([answer]);
    const other = { ...response, request_id: 'clarification:call_other' };
    expect(await says(await questionedThread(), { human_input_response: other })).toEqual([]);
    expect(await says(await questionedThread())).toEqual([]);
  });
});
