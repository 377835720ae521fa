/** Exit code 0 when the service in this container answers on the given port. Usage: node healthcheck.mjs PORT [PATH] */
const [port, path = '/health'] = process.argv.slice(2);
const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4000) });
process.exit(response.ok ? 0 : 1);
