import { Logger, type Type } from '@nestjs/common';
import { ContextIdFactory, type DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import { MARKS, type Mark, type XtimerContext } from './decorators.js';
import { SetupError } from './errors.js';

/** A decorated method, found. */
export type Handler = Mark & {
  /** `OrderTimeouts.cancel`, for messages. */
  where: string;
  /** Part of the callback path, the same in all instances of the service. */
  path: string;
  /** One attempt, ms: xtimer's default until registration has told. */
  timeoutMs: number;
  call(payload: unknown, context: XtimerContext): Promise<unknown>;
};

export type Handlers = ReadonlyMap<string, Handler>;

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
type Method = (payload: unknown, context: XtimerContext) => unknown;

const DEFAULT_TIMEOUT_MS = 10_000;

/** All decorated methods by their path. Throws SetupError `TWICE`. */
export function findHandlers(discovery: DiscoveryService): Handlers {
  const found = new Map<string, Handler>();
  const seen = new Set<unknown>();
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const type = typeOf(wrapper);
    // One instance under two tokens (`useExisting`) is one provider.
    const identity = wrapper.isDependencyTreeStatic() ? wrapper.instance : wrapper;
    if (!type || seen.has(identity)) continue;
    seen.add(identity);
    for (const name of new MetadataScanner().getAllMethodNames(type.prototype)) {
      const method: unknown = type.prototype[name];
      const marks: Mark[] = (typeof method === 'function' && Reflect.getMetadata(MARKS, method)) || [];
      for (const mark of marks) add(found, mark, wrapper, type, name);
    }
  }
  return found;
}

function add(found: Map<string, Handler>, mark: Mark, wrapper: Wrapper, type: Type, name: string): void {
  const module = wrapper.host?.name ?? 'unknown module';
  const where = `${type.name}.${name} (${module})`;
  const path = `${mark.kind === 'topic' ? 'topics' : 'timers'}/${mark.name}`;
  const other = found.get(path);
  if (other) {
    const what =
      mark.kind === 'topic' ? `topic "${mark.name}" has two consumers` : `two crons are named "${mark.name}"`;
    throw new SetupError(
      'TWICE',
      `${what}: ${other.where} and ${where}. Keep one; a class that several modules need is provided in one and exported`,
    );
  }
  const timeoutMs = mark.definition.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  found.set(path, { ...mark, where, path, timeoutMs, call: caller(wrapper, type, name) });
}

function caller(wrapper: Wrapper, type: Type, name: string): Handler['call'] {
  if (wrapper.isDependencyTreeStatic()) {
    const instance = wrapper.instance as Record<string, Method>;
    return async (payload, context) => instance[name]!(payload, context);
  }
  // Request-scoped: an instance for each call.
  const moduleRef = wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef)?.instance as ModuleRef | undefined;
  if (!moduleRef) new Logger('XtimerModule').warn(`${type.name} belongs to no module`);
  return async (payload, context) => {
    const contextId = ContextIdFactory.create();
    moduleRef!.registerRequestByContextId(context, contextId);
    const instance = await moduleRef!.resolve<Record<string, Method>>(wrapper.token as Type, contextId);
    return instance[name]!(payload, context);
  };
}

function typeOf(wrapper: Wrapper): Type | null {
  const instance: unknown = wrapper.instance;
  // A factory's product has its class only once it is there.
  if (instance !== null && typeof instance === 'object' && wrapper.isDependencyTreeStatic()) {
    const type: unknown = Reflect.get(Object.getPrototypeOf(instance) ?? {}, 'constructor');
    return typeof type === 'function' && type !== Object ? (type as Type) : null;
  }
  const type = wrapper.metatype;
  return !wrapper.isDependencyTreeStatic() && typeof type === 'function' && type.prototype ? (type as Type) : null;
}
