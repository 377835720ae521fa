/**
 * Reads the configuration with the product's own reader and prints what the launcher shows of it as JSON. It runs in a
 * separate process, so that the reader does not stay in the launcher's memory.
 */
const { join } = require('node:path');

const root = join(__dirname, '..', '..', '..');
const { loadConfig } = require(join(root, 'dist', 'libs', 'config', 'src', 'index.js'));

try {
  const { http, auth, models, warnings, notices, problems } = loadConfig(process.env, root);
  const facts = {
    host: http.host,
    port: http.port,
    locked: http.apiKeys.length > 0 || auth.enabled,
    models: models.map(({ name, model, baseUrl }) => ({ name, model, host: new URL(baseUrl).host })),
    ...{ warnings, notices, problems },
  };
  process.stdout.write(JSON.stringify(facts));
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
