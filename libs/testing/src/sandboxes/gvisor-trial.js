'use strict';

// Run by its path in a process of its own, with a static busybox as its argument: whether the engine's gVisor works on
// this machine. It starts a sandbox, runs a command in it, and kills it in the middle of another. Exit code 0, or the
// reason on stdout.

const { execFileSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const { basename, dirname } = require('node:path');
const { Readable } = require('node:stream');
const { text } = require('node:stream/consumers');
const Docker = require('dockerode');

const STEP_TIMEOUT_MS = 15_000;
const IMAGE = 'caribou-gvisor-trial';

const engine = new Docker();

/**
 * @template T
 * @param {string} what
 * @param {Promise<T>} step
 * @returns {Promise<T>}
 */
async function within(what, step) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} takes longer than ${STEP_TIMEOUT_MS} ms`)), STEP_TIMEOUT_MS);
  });
  return Promise.race([step, late]).finally(() => clearTimeout(timer));
}

/** @param {string} busybox */
async function importBusybox(busybox) {
  const archive = execFileSync('tar', ['-C', dirname(busybox), '-c', basename(busybox)], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const progress = await engine.importImage(Readable.from([archive]), { repo: IMAGE, tag: 'latest' });
  await new Promise((resolve) => engine.modem.followProgress(progress, resolve));
}

/**
 * @param {Docker.Container} sandbox @param {string[]} words @returns {Promise<{ output: Promise<string> }>} once it
 * runs
 */
async function begin(sandbox, words) {
  const exec = await sandbox.exec({ Cmd: ['/busybox', ...words], AttachStdout: true, AttachStderr: true });
  return { output: text(await exec.start({ hijack: true, stdin: false })) };
}

/** Ends the processes of a sandbox that did not start: gVisor names them after it. @param {string} id */
function endProcessesOf(id) {
  for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // The process has just ended, or belongs to another user.
    }
  }
}

/** @param {string} busybox */
async function trial(busybox) {
  const { Runtimes } = await within('the engine', engine.info());
  if (!('runsc' in Runtimes)) throw new Error('the engine has no runtime runsc');
  await within('an image', importBusybox(busybox));
  const sandbox = await engine.createContainer({
    Image: IMAGE,
    Entrypoint: ['/busybox', 'sleep', '120'],
    Cmd: [],
    NetworkDisabled: true,
    HostConfig: { Runtime: 'runsc', NetworkMode: 'none' },
  });
  try {
    await within('the start of a sandbox', sandbox.start());
    const { output } = await within('a command', begin(sandbox, ['dmesg']));
    const answer = await within('the end of a command', output);
    if (!answer.includes('gVisor')) throw new Error(`dmesg in a sandbox prints ${answer.slice(0, 200)}`);
    const killed = await within('a second command', begin(sandbox, ['sleep', '100']));
    await within('the kill of a sandbox', sandbox.kill());
    await within('the end of a killed command', killed.output);
  } finally {
    await within('the removal of a sandbox', sandbox.remove({ force: true })).finally(() => endProcessesOf(sandbox.id));
  }
}

trial(process.argv[2] ?? '').catch((error) => {
  process.stdout.write(String(error.message).trim());
  process.exitCode = 1;
});
