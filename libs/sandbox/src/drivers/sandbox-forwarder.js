'use strict';

/**
 * Runs inside a sandbox: listens on the sandbox's loopback and passes each connection on to the unix socket that is the
 * sandbox's only exit. It decides nothing; who may go where is decided on the socket's other side. It is copied into
 * sandboxes unchanged, so it needs nothing but Node.
 *
 * Arguments: the unix socket, the port.
 */

const { connect, createServer } = require('node:net');

const MAX_CONNECTIONS = 128;
const [socketPath = '', port = ''] = process.argv.slice(2);

/** @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
function passOn(from, to) {
  from.pipe(to);
  from.once('error', () => to.destroy());
  from.once('close', () => to.destroySoon());
}

const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  passOn(client, socket);
  passOn(socket, client);
});
server.maxConnections = MAX_CONNECTIONS;
server.once('error', () => process.exit(1));

// It listens only if there is a socket: what waits for the port to be open then knows that there is a way out.
const trial = connect({ path: socketPath });
trial.once('error', () => process.exit(1));
trial.once('connect', () => {
  trial.destroy();
  server.listen(Number(port), '127.0.0.1');
});
