const { closeSync, readdirSync, readFileSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

/**
 * Starts a service from its bundle. From Node 22 on the machine code that Node compiles is cached in the folder of the bundle; where that
 * folder cannot be written, as in an image, every start compiles again.
 *
 * @param {string} bundle file name in this folder
 */
exports.start = (bundle) => {
  closeInherited();
  enableCompileCache?.(join(__dirname, '.compile-cache'));
  require(join(__dirname, bundle));
};

/**
 * Closes descriptors that this process inherited: the programs it starts (MCP servers, parsers) must not
 * inherit them. Node's own, the channel to the launcher included, are closed on exec and stay open here. V8's logs are not,
 * and nothing is closed while V8 writes any: another file could get the number of one.
 */
function closeInherited() {
  if (LOGS_OF_V8.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '))) return;
  for (const fd of descriptors()) {
    if (fd > 2 && isInheritable(fd)) closeSync(fd);
  }
}

const LOGS_OF_V8 = /--(?:prof|perf|log|ll-prof)/;
const CLOSE_ON_EXEC = 0o2000000;

/** @param {number} fd */
function isInheritable(fd) {
  // The descriptor that listed the folder is closed by now.
  const flags = /^flags:\s*(\d+)/m.exec(orNothing(() => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}

/** Open descriptors; none without /proc, as on macOS. */
const descriptors = () => (orNothing(() => readdirSync('/proc/self/fd')) ?? []).map(Number);

/**
 * What `read` returns; undefined for a missing file.
 *
 * @template T
 * @param {() => T} read
 * @returns {T | undefined}
 */
function orNothing(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
