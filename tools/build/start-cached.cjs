const { createHash } = require('node:crypto');
const { readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
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
  const file = join(__dirname, name);
  const settings = createHash('sha256')
    .update([process.version, ...process.execArgv].join(' '))
    .digest('hex');
  const cache = `${file}.${settings.slice(0, 16)}.cache`;
  const cachedData = contentOf(cache);
  const script = new vm.Script(Module.wrap(readFileSync(file, 'utf8')), {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const main = new Module(file, require.main);
  script.runInThisContext()(main.exports, Module.createRequire(file), main, file, dirname(file));
  if (cachedData === undefined || script.cachedDataRejected === true)
    setTimeout(() => keep(cache, script.createCachedData()), KEEP_AFTER_MS).unref();
};

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
