export type { ReceivedCall, ReceiverStats } from './call-log.js';
export { type Receiver, type ReceiverOptions, startReceiver } from './receiver.js';
