/** A stack whose tools need approvals: those of the MCP server `bank`, `own_effect` of the operator, `tee`, files outside of the outputs. */
export const approvalsConfig = (port: number): string => `approvals:
  rules:
    - {id: bank, tools: ["bank_*"], message: moves money, allowed_decisions: [approve, edit, reject, respond]}
    - {id: own, tools: [own_effect]}
    - {id: outside, tools: [write_file], paths_outside: ["/mnt/user-data/outputs/*"]}
    - {id: slow, tools: [view_nothing, ls], expires_after_seconds: 1}
command_rules:
  rules: [{id: tees, verdict: ask, match: {commands: [tee]}, message: writes on}]
mcp:
  api_hosts: ["127.0.0.1:${port}"]
tools:
  - name: own_effect
    use: ./own.mjs#ownEffect
`;

/** The module with the tool `own_effect`, which writes a line beside itself. */
export const OWN_TOOL = `import { appendFile } from 'node:fs/promises';
export const ownEffect = ({ defineTool, z }) => defineTool({
  name: 'own_effect',
  description: 'Writes a line.',
  input: z.object({ line: z.string() }),
  run: async ({ line }) => {
    await appendFile(new URL('./own-effects', import.meta.url), line + '\\n');
    return 'written ' + line;
  },
});
`;

/** A line of a script that calls a tool. */
export const callLine = (name: string, args: object): string => `#tool ${name} ${JSON.stringify(args)}`;
export const PAY = callLine('bank_pay', { to: 'bob', amount: 5 });
/** A line that writes into the ledger of the workspace. */
export const tee = (line: string, then = ''): string =>
  callLine('bash', { description: 'a test', command: `echo ${line} | tee -a /mnt/user-data/workspace/ledger${then}` });
