/** `npm start`: from a bare clone to a running server. `--migrate` (`npm run migrate`) only brings the schema up to date. */
import { start } from './lib/processes.mjs';
import { inRoot, prepare, ROOT } from './lib/repo.mjs';

await prepare();

const args = process.argv.slice(2).map((arg) => (arg === '--migrate' ? 'migrate' : arg));
const server = start(process.execPath, [inRoot('apps/server/dist/main.js'), ...args], { cwd: ROOT });

// The server ends cleanly on one signal; npm and the terminal may both send us the same Ctrl-C.
let passedOnAt = Number.NEGATIVE_INFINITY;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (performance.now() - passedOnAt < 500) return;
    passedOnAt = performance.now();
    server.kill(signal);
  });
}

process.exitCode = (await server.ended).code;
