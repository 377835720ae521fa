const { createHash } = require('node:crypto');
const { closeSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join } = require('node:path');
const vm = require('node:vm');

/**
 * Starts a bundle with the machine code that an earlier start left beside it, which takes half the time. The name of a
 * bundle holds its hash, so code is never taken for that of another; V8 refuses what another version of it made.
 */

/** Functions that were called until then are in what is kept, in milliseconds after the start. */
const KEEP_AFTER_MS = 2_500;

/** @param {string} name of the bundle in this folder */
exports.start = (name) => {
  closeInherited();
  const file = join(__dirname, name);
  const settings = createHash('sha256')
    .update([process.version, ...process.execArgv].join(' '))
    .digest('hex');
  const cache = `${file}.${settings.slice(0, 16)}.cache`;
  const cachedData = contentOf(cache);
  const script = new vm.Script(Module.wrap(readFileSync(file, 'latin1')), {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const main = new Module(file, require.main);
  script.runInThisContext()(main.exports, Module.createRequire(file), main, file, dirname(file));
  if (cachedData === undefined || script.cachedDataRejected === true)
    setTimeout(() => keep(cache, script.createCachedData()), KEEP_AFTER_MS).unref();
};

/**
 * Closes descriptors that whoever started this process left open: the programs it starts (MCP servers, parsers) must not
 * inherit them. Node's own, the channel to the launcher included, are closed on exec and stay. V8's logs are not, and nothing
 * is closed when it writes any: another file could get the number of one.
 */
function closeInherited() {
  if (LOGS_OF_V8.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '))) return;
  for (const fd of contentOfFolder('/proc/self/fd').map(Number)) {
    if (fd > 2 && isInheritable(fd)) closeSync(fd);
  }
}

const LOGS_OF_V8 = /--(?:prof|perf|log|ll-prof)/;
const CLOSE_ON_EXEC = 0o2000000;

/** @param {number} fd */
function isInheritable(fd) {
  // The descriptor that listed the folder is gone by now.
  const flags = /^flags:\s*(\d+)/m.exec(contentOf(`/proc/self/fdinfo/${fd}`)?.toString() ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}

/** Names in a folder; none where there is no such folder, as on macOS. @param {string} path @returns {string[]} */
function contentOfFolder(path) {
  try {
    return readdirSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** @param {string} path @returns {Buffer | undefined} nothing when there is no such file */
function contentOf(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Where the folder cannot be written, as in an image, every start compiles anew. @param {string} path @param {Buffer} data */
function keep(path, data) {
  const whole = `${path}.${process.pid}`;
  try {
    writeFileSync(whole, data);
    renameSync(whole, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code !== 'EROFS') rmSync(whole, { force: true });
  }
}
