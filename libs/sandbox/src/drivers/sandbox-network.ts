import type { Socket } from 'node:net';
import type { SandboxSpec } from './driver.js';

/** The other side of the sandboxes' egress sockets: decides where connections may go, and carries them there. */
export interface SandboxNetwork {
  /** Takes over a connection that something in the sandbox opened; its HTTP is that of a forward proxy's client. */
  serve(socket: Socket, sandbox: SandboxSpec): void;
}

/** Where a sandbox finds its egress socket and the forwarder. */
export const EGRESS_DIRECTORY = '/run/caribou';
export const EGRESS_SOCKET = 'exit.sock';
export const FORWARDER = 'forwarder.js';

/** Where a sandbox finds Node when its own system files do not have it. */
export const NODE_IN_SANDBOX = '/run/caribou-node';

/** Port of the forwarder on the sandbox's loopback. */
const PORT = 3128;
const URL_IN_SANDBOX = `http://127.0.0.1:${PORT}`;
const DIRECT = 'localhost,127.0.0.1,::1';

/** What programs in a sandbox with an egress socket find in their environment besides the usual. */
export const NETWORK_ENVIRONMENT: Readonly<Record<string, string>> = {
  HTTP_PROXY: URL_IN_SANDBOX,
  HTTPS_PROXY: URL_IN_SANDBOX,
  http_proxy: URL_IN_SANDBOX,
  https_proxy: URL_IN_SANDBOX,
  NO_PROXY: DIRECT,
  no_proxy: DIRECT,
  // Node's own fetch reads these variables only with this one set, from Node 22.21 on.
  NODE_USE_ENV_PROXY: '1',
};

/** The forwarder's command line for a shell; `node` is the program's path in the sandbox. It needs few threads. */
export const forwarderCommand = (node: string): string =>
  `${node} --v8-pool-size=0 --max-old-space-size=64 ${EGRESS_DIRECTORY}/${FORWARDER} ${EGRESS_DIRECTORY}/${EGRESS_SOCKET} ${PORT}`;

/** What a command that begins without an open egress socket writes to stderr. */
export const NO_NETWORK = 'sandbox: the egress forwarder is not running';

/** Shell: waits, ten seconds at least and not for ever, until something listens on the port (state 0A, proc(5)). */
export const AWAIT_FORWARDER = `caribou_listens() {
  while read -r _ local _ state _; do
    case "$local $state" in *:${PORT.toString(16).toUpperCase().padStart(4, '0')}" 0A") return 0;; esac
  done < /proc/net/tcp
  return 1
}
n=0
until caribou_listens; do
  n=$((n+1))
  if [ $n -gt 500 ]; then echo '${NO_NETWORK}' >&2; break; fi
  sleep 0.02
done`;

/**
 * Shell: starts the forwarder in a session of its own, detached from any parent, and then executes its arguments; $1
 * is setsid, $2 Node. It dies with the sandbox.
 */
export const WITH_FORWARDER = `( "$1" ${forwarderCommand('"$2"')} </dev/null >/dev/null 2>&1 & )
shift 2
${AWAIT_FORWARDER}
exec "$@"`;
