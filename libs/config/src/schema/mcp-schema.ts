import { z } from 'zod';
import { HOST_RULE } from './host-rule.js';
import { integer, ms } from './kinds/setting-kinds.js';

const COMMAND = /^[A-Za-z0-9_.+-]{1,100}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Settings for all MCP servers; extensions_config.json lists the servers. */
export const McpFile = z
  .object({
    enabled: z.boolean().default(true).describe('Offer agents the tools of MCP servers'),
    connect_timeout_ms: ms(60_000).describe(
      'Until the first answer of a server; its session_init_timeout takes precedence',
    ),
    list_timeout_ms: ms(15_000).describe('For the list of its tools'),
    call_timeout_ms: ms(300_000).describe(
      'For a call without progress; tool_call_timeout of a server takes precedence',
    ),
    load_wait_ms: integer(10_000, 0, 120_000).describe(
      'Longest wait of a run for a server that was never reached; then the run continues without its tools',
    ),
    max_sessions: integer(256, 1, 10_000).describe('Sessions with servers that one process keeps for threads'),
    session_idle_ms: ms(600_000, 86_400_000).describe('A session that is unused for this long is ended'),
    api_commands: z
      .array(z.string().regex(COMMAND, 'must be the name of a command, without a path'))
      .max(50)
      .default([])
      .describe(
        'Commands that servers written over REST may start, such as npx; whoever may write them can then run any code here',
      ),
    api_hosts: z
      .array(z.string().max(300).regex(HOST_RULE, 'must be a host or *.suffix, with :port where it is not 80 or 443'))
      .max(1_000)
      .default([])
      .describe(
        'Hosts that servers written over REST may lie on although they are private or use other ports, such as mcp.lan:8443; else public addresses, ports 80 and 443',
      ),
    api_variables: z
      .array(z.string().regex(VARIABLE, 'must be the name of a variable'))
      .max(100)
      .default([])
      .describe('Variables of the environment that servers written over REST may name as $NAME'),
  })
  .describe('MCP servers; extensions_config.json lists them, and administrators may add some over REST');
