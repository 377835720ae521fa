/**
 * @typedef {import('../../libs/extensions/src/index.js').Toolkit} Toolkit Types only: nothing of Caribou is imported
 *   when this runs. Remove the line where Caribou's sources are not available.
 */

/**
 * Two tools for a helpdesk with an HTTP API: one opens a ticket, one reads one.
 *
 * @typedef {Pick<Toolkit, 'defineTool' | 'z'>} Parts
 */

/** @param {Toolkit['z']} z @param {Readonly<Record<string, unknown>>} options */
const settings = (z, options) => z.strictObject({ url: z.url(), api_key: z.string().min(1) }).parse(options);

/**
 * Opens a ticket. It has an effect, so Caribou calls it at most once for each call of the model, whatever process dies;
 * `key` is the same when the call is repeated, so that the helpdesk can detect that, too.
 *
 * @param {Parts} caribou
 * @param {Readonly<Record<string, unknown>>} options `{url, api_key}`: further keys of the entry in config.yaml
 */
export function openTicket({ defineTool, z }, options) {
  const { url, api_key: apiKey } = settings(z, options);
  return defineTool({
    name: 'open_ticket',
    description: 'Opens a ticket at the helpdesk and gives its number. Use it only when the person asks for one.',
    input: z.object({
      title: z.string().min(1).max(200).describe('What is wrong, in one line.'),
      urgent: z.boolean().default(false).describe('Whether somebody cannot work because of it.'),
    }),
    timeoutMs: 20_000,
    async run({ title, urgent }, { signal, key }) {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': key };
      const body = JSON.stringify({ title, urgent });
      const response = await fetch(`${url}/tickets`, { method: 'POST', headers, body, signal });
      if (!response.ok) return { content: `Error: the helpdesk answered ${response.status}.`, isError: true };
      const { number } = z.object({ number: z.int() }).parse(await response.json());
      return `Ticket ${number} is open.`;
    },
  });
}

/**
 * Reads a ticket. It changes nothing (`readOnly`), and its result was written by others (`remote`). Its arguments are
 * described by a JSON Schema, which works as well as one made with `z`.
 *
 * @param {Parts} caribou
 * @param {Readonly<Record<string, unknown>>} options `{url, api_key}`
 */
export function ticketStatus({ defineTool, z }, options) {
  const { url, api_key: apiKey } = settings(z, options);
  return defineTool({
    name: 'ticket_status',
    description: 'Tells what became of a ticket.',
    input: {
      type: 'object',
      properties: { number: { type: 'integer', minimum: 1, description: 'Number of the ticket.' } },
      required: ['number'],
    },
    readOnly: true,
    remote: true,
    async run({ number }, { signal }) {
      const response = await fetch(`${url}/tickets/${number}`, {
        headers: { authorization: `Bearer ${apiKey}` },
        signal,
      });
      if (response.status === 404) return { content: `Error: there is no ticket ${number}.`, isError: true };
      if (!response.ok) return { content: `Error: the helpdesk answered ${response.status}.`, isError: true };
      return await response.text();
    },
  });
}
