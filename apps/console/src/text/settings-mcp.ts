/** Texts of the page of MCP servers. */
export const mcpTexts = {
  title: 'MCP servers',
  about: 'Servers whose tools all agents of this installation can use.',
  forAdministrators: 'Only administrators see and change MCP servers. Ask one of them when a tool is missing.',
  list: 'Servers',
  empty: 'There are no MCP servers.',
  name: 'Name',
  type: 'Type',
  target: 'Address or command',
  enabled: 'Enabled',
  switchOf: (name: string) => `Use ${name}`,
  add: 'Add a server',
  editTitle: (name: string) => `Server ${name}`,
  nameHint: '1 to 64 characters; part of the names of its tools.',
  json: 'Server as JSON',
  jsonHint:
    'A secret that is shown as ******** stays as it is. It has to be given again when the address or the command changes. $NAME is a variable of the server.',
  faults: {
    json: (line: number | null) => (line === null ? 'This is not JSON.' : `This is not JSON: see line ${line}.`),
    object: 'The server must be a JSON object: { … }.',
  },
  fault: (field: string, message: string, line: number | null) =>
    [line === null ? '' : `Line ${line}: `, field === '' ? '' : `${field}: `, message].join(''),
  faultList: 'The server refuses this',
  deleteTitle: (name: string) => `Remove the server ${name}?`,
  deleteAbout:
    'Its tools disappear from all agents. A server of the operator’s file cannot be removed here; switch it off.',
  reset: 'Connect again',
  resetAbout: 'All processes connect to all servers again and read their lists of tools again.',
  resetDone: 'All processes connect again.',
};
