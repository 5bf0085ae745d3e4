/** `npm start`: from a bare clone to a running server. `--migrate` (`npm run migrate`) only brings the schema up to date. */
import { onStop, start } from './lib/processes.mjs';
import { inRoot, prepare, ROOT } from './lib/repo.mjs';

await prepare();

const args = process.argv.slice(2).map((arg) => (arg === '--migrate' ? 'migrate' : arg));
const server = start(process.execPath, [inRoot('apps/server/dist/main.js'), ...args], { cwd: ROOT });
onStop((signal) => server.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal));

process.exitCode = (await server.ended).code;
