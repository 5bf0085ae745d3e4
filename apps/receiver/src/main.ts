import { parseArgs } from 'node:util';
import type { ReceivedCall } from './call-log.js';
import { startReceiver } from './receiver.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    keep: { type: 'string', default: '10000' },
    print: { type: 'boolean', default: false },
  },
});

const printCall = ({ receivedAt, method, path, headers, lateness }: ReceivedCall): void => {
  const time = new Date(receivedAt).toISOString().slice(11, 23);
  const timer = headers['x-xtimer-timer-id'] ?? '-';
  console.log(
    `${time}  ${method} ${path}  timer ${timer}  ${lateness === null ? '-' : `${lateness.toFixed(1)} ms late`}`,
  );
};

try {
  const receiver = await startReceiver({
    port: Number(values.port),
    host: values.host,
    keep: Number(values.keep),
    ...(values.print && { onCall: printCall }),
  });
  console.log(`receiver listening on ${receiver.url}`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void receiver.close());
} catch (error) {
  console.error(`receiver can't listen on ${values.host}:${values.port}: ${(error as Error).message}`);
  process.exitCode = 1;
}
