/** Stands in for the agent where only the start and the end of pods are tested: answers questions about its health. */
const { createServer } = require('node:http');

createServer((request, response) => response.writeHead(request.url === '/healthz' ? 204 : 404).end()).listen(
  Number(process.env.CARIBOU_AGENT_PORT),
);
