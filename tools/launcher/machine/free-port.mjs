import { createServer } from 'node:net';

/**
 * A port that was free a moment ago, or whether a given one is.
 *
 * @param {{ port: number, host: string }} wanted port 0 for any
 * @returns {Promise<number | undefined>} undefined when it is taken
 */
function bindOnce({ port, host }) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** A free port on 127.0.0.1. @returns {Promise<number>} */
export async function freePort() {
  const port = await bindOnce({ port: 0, host: '127.0.0.1' });
  if (port === undefined) throw new Error('no free port');
  return port;
}

/** @param {number} port @param {string} host */
export const isPortFree = async (port, host) => port === 0 || (await bindOnce({ port, host })) !== undefined;
