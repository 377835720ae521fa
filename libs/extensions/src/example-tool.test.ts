import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '@caribou/config';
import type { AnyTool, ToolContext, ToolOutcome } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { openTicket, ticketStatus } from '../../../examples/custom-tool/tickets.mjs';
import { loadExtensions } from './load-extensions.js';

interface Asked {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

describe('the example of custom tools', () => {
  const asked: Asked[] = [];
  let helpdesk: Server;
  let url = '';
  beforeAll(async () => {
    helpdesk = createServer((request, response) => {
      let body = '';
      request.on('data', (data: Buffer) => (body += data.toString()));
      request.on('end', () => {
        const line = `${request.method} ${request.url}`;
        asked.push({ line, headers: request.headers, body });
        if (line === 'POST /tickets') response.end('{"number": 7}');
        else if (line === 'GET /tickets/7') response.end('waiting for a printer');
        else response.writeHead(line.endsWith('/8') ? 404 : 500).end();
      });
    });
    await new Promise<void>((resolve) => helpdesk.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(helpdesk.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => helpdesk.close(resolve)));
  beforeEach(() => asked.splice(0));

  async function toolsOf(options: Readonly<Record<string, unknown>>): Promise<readonly AnyTool[]> {
    const entry = (name: string, at: string) => ({
      key: 'tools[0]',
      name,
      group: 'helpdesk',
      use: `/x.mjs#${at}`,
      options: new Secret(options),
    });
    const tools = [entry('open_ticket', 'openTicket'), entry('ticket_status', 'ticketStatus')];
    const load = () => Promise.resolve({ openTicket, ticketStatus });
    return (await loadExtensions({ middlewares: [], tools }, { load, reserved: new Set() })).tools;
  }
  async function call(name: string, args: Readonly<Record<string, unknown>>): Promise<ToolOutcome> {
    const tool = (await toolsOf({ url, api_key: 'secret' })).find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const context: ToolContext = { run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } };
    return tool.invoke(args, context);
  }

  test('it opens a ticket under the key of the call, and returns the reply', async () => {
    expect(await call('open_ticket', { title: 'the printer smokes', urgent: true })).toEqual({
      content: 'Ticket 7 is open.',
    });
    expect(asked).toMatchObject([
      {
        line: 'POST /tickets',
        headers: { authorization: 'Bearer secret', 'idempotency-key': 'r1:c1' },
        body: '{"title":"the printer smokes","urgent":true}',
      },
    ]);
  });

  test('it looks one up, and a refusal is an answer', async () => {
    expect(await call('ticket_status', { number: 7 })).toEqual({ content: 'waiting for a printer' });
    expect(await call('ticket_status', { number: 8 })).toMatchObject({
      isError: true,
      content: 'Error: there is no ticket 8.',
    });
    expect(await call('ticket_status', { number: 9 })).toMatchObject({ isError: true });
    expect(await call('ticket_status', { number: 'x' })).toMatchObject({ isError: true });
    expect(asked.map(({ line }) => line)).toEqual(['GET /tickets/7', 'GET /tickets/8', 'GET /tickets/9']);
  });

  test('only looking up may be repeated, and what it gives counts as written by strangers', async () => {
    expect(
      (await toolsOf({ url, api_key: 'k' })).map(({ readOnly, remote, group }) => [readOnly, remote, group]),
    ).toEqual([
      [undefined, undefined, 'helpdesk'],
      [true, true, 'helpdesk'],
    ]);
  });

  test('missing options stop the start of the service', async () => {
    await expect(toolsOf({ url })).rejects.toThrow(/tools\[0\] \(\/x\.mjs#openTicket\): .*api_key/);
  });
});
