export { type ConsumerOptions, type CronOptions, DelayConsumer, type XtimerContext, XtimerCron } from './decorators.js';
export { DelayQueue, type PublishOptions, type When } from './delay-queue.js';
export { DoNotRetry, SetupError, type SetupErrorCode } from './errors.js';
export type { Dedupe, XtimerOptions } from './options.js';
export { XtimerModule } from './xtimer.module.js';
