/**
 * Injection tokens for what has no class of its own to be injected by.
 * `PlatformModule` (global) gives the first group, `PipelineModule` the second.
 */

/** `Config`: the validated environment. */
export const CONFIG = Symbol('CONFIG');
/** pino `Logger`. */
export const LOG = Symbol('LOG');
/** The opened database as a whole: settings, apps, time source. */
export const DATABASE = Symbol('DATABASE');
/** `TimerStore` */
export const TIMER_STORE = Symbol('TIMER_STORE');
/** `TaskStore` */
export const TASK_STORE = Symbol('TASK_STORE');
/** `TimeBuckets & SliceLocks & TimeSource` */
export const BUCKET_STORE = Symbol('BUCKET_STORE');
/** The guard that says which addresses callbacks may reach; saving a timer and calling it use the same one. */
export const CALLBACK_GUARD = Symbol('CALLBACK_GUARD');

/** `Clock` */
export const CLOCK = Symbol('CLOCK');
/** `Callbacks` */
export const CALLBACKS = Symbol('CALLBACKS');
/** `TimerCommands` */
export const TIMER_COMMANDS = Symbol('TIMER_COMMANDS');
/** `JobService`: topics and jobs. */
export const JOB_COMMANDS = Symbol('JOB_COMMANDS');
/** The stages' typed events. */
export const EVENTS = Symbol('EVENTS');
