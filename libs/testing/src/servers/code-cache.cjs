/**
 * Loaded into each service that a test starts: what V8 compiled of its bundle is stored once and read by every later start, which
 * saves a quarter of the processor time of a start. All tests together start hundreds of processes, most of which are killed, so
 * that Node's own cache, written at the end of a process, would stay empty. V8 itself refuses code of another version or with
 * other flags.
 */
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');

const loadModule = Module._extensions['.js'];
Module._extensions['.js'] = (module, path) =>
  path.endsWith('.bundle.js') ? loadBundle(module, path) : loadModule(module, path);

/** @param {NodeJS.Module} module @param {string} path */
function loadBundle(module, path) {
  const cache = cacheOf(path);
  const cachedData = orNothing(() => readFileSync(cache));
  // A bundle has no character beyond ASCII, and V8 refers to text of one byte each where it is.
  const script = new Script(Module.wrap(readFileSync(path, 'latin1')), { filename: path, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) storeWhenReady(script, cache);
  const run = script.runInThisContext();
  run.call(module.exports, module.exports, Module.createRequire(path), module, path, dirname(path));
}

/** The file for a bundle as it was built by the last build. @param {string} path */
function cacheOf(path) {
  const { mtimeMs, size } = statSync(path);
  return join(dirname(path), '.compile-cache', `${basename(path)}.${process.version}.${mtimeMs}.${size}`);
}

/**
 * Stores the code of all functions that a start has used, just before the service reports that it is ready: no test waits for
 * the process in the middle of its work.
 *
 * @param {Script} script
 * @param {string} cache
 */
function storeWhenReady(script, cache) {
  const { send } = process;
  if (send === undefined) return;
  process.send = (message, ...more) => {
    if (message?.type === 'ready') {
      process.send = send;
      store(script.createCachedData(), cache);
    }
    return send.call(process, message, ...more);
  };
}

/** The name of a file that a process is writing. */
const HALF_WRITTEN = /-\d+$/;

/** @param {Buffer} code @param {string} cache */
function store(code, cache) {
  const folder = dirname(cache);
  const [bundle = ''] = basename(cache).split('.v');
  mkdirSync(folder, { recursive: true });
  // Several processes may store the same code at once; a reader finds a whole file or none.
  writeFileSync(`${cache}-${process.pid}`, code);
  renameSync(`${cache}-${process.pid}`, cache);
  for (const name of readdirSync(folder)) {
    const isOutdated = name.startsWith(`${bundle}.`) && name !== basename(cache) && !HALF_WRITTEN.test(name);
    if (isOutdated) rmSync(join(folder, name), { force: true });
  }
}

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
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
