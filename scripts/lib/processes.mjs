/**
 * Child processes: each is ended by its own pid, whatever way the command itself ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const alive = new Set();

/**
 * Starts a program in a process group of its own, so that Ctrl-C in the terminal reaches only us and we decide in
 * which order things end. `output` collects what a quiet child writes.
 */
export function start(command, args, { env = {}, cwd, quiet = false, stdio } = {}) {
  const child = spawn(command, args, {
    cwd,
    detached: true,
    env: { ...process.env, ...env },
    stdio: stdio ?? (quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit']),
    shell: process.platform === 'win32' && command === 'npm',
  });
  child.output = '';
  if (quiet) {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (child.output += text));
  }
  child.ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, output: error.message }));
    child.once('close', (code, signal) => resolve({ code: code ?? 128, signal, output: child.output }));
  });
  alive.add(child);
  child.ended.then(() => alive.delete(child));
  return child;
}

/** Runs a program to its end. `timeoutMs`: it and what it started are ended then, which counts as failed. */
export async function run(command, args, { timeoutMs, ...options } = {}) {
  const child = start(command, args, options);
  const timer = timeoutMs && setTimeout(() => end(child), timeoutMs);
  const result = await child.ended;
  clearTimeout(timer);
  return result;
}

/** Asks a child to end; after `graceMs` it is ended. With `group`, also what it started itself. */
export async function end(child, { signal = 'SIGTERM', graceMs = 10_000, group = true } = {}) {
  if (!alive.has(child) || child.pid === undefined) return;
  const send = (name) => {
    try {
      process.kill(group ? -child.pid : child.pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  };
  send(signal);
  const timer = setTimeout(() => send('SIGKILL'), graceMs);
  await child.ended;
  clearTimeout(timer);
}

export const endAll = () => Promise.all([...alive].map((child) => end(child)));

/**
 * Calls `handler` on Ctrl-C, SIGTERM, a closed terminal, or when npm died above us: npm passes a signal to the shell it
 * started, which ends without passing it on. npm and the terminal may both deliver one Ctrl-C, so what follows within
 * half a second is dropped.
 */
export function onStop(handler) {
  let calledAt = Number.NEGATIVE_INFINITY;
  const stop = (signal) => {
    if (performance.now() - calledAt < 500) return;
    calledAt = performance.now();
    handler(signal);
  };
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, stop);
  if (!('npm_lifecycle_event' in process.env)) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop('SIGTERM');
  }, 500).unref();
}

/** Calls `clean` once on a stop, then exits: with `exitCode`, or as a shell expects. */
export function onInterrupt(clean, { exitCode } = {}) {
  let first = true;
  onStop(async (signal) => {
    if (!first) return;
    first = false;
    await clean();
    process.exit(exitCode ?? 128 + constants.signals[signal]);
  });
}

/** A port nobody listens on right now. `preferred` is taken when it is free. */
export async function freePort(preferred = 0) {
  const server = createServer();
  server.listen(preferred, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (preferred === 0 || error.code !== 'EADDRINUSE') throw error;
    return freePort();
  }
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Asks `check` until it says yes. Gives up after `withinMs`, or at once when `child` has ended. */
export async function until(check, { withinMs = 30_000, everyMs = 50, child, what }) {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    let problem = 'not yet';
    try {
      if (await check()) return;
    } catch (error) {
      problem = error.message;
    }
    if (child && !alive.has(child)) throw new Error(`${what}: the process ended.\n${child.output}`);
    if (performance.now() > giveUpAt) throw new Error(`${what}: not within ${withinMs / 1000} s (${problem}).`);
    await sleep(everyMs);
  }
}
