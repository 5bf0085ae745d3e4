import {
  ConfigurableModuleBuilder,
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { type Client, createClient } from '@xtimer/client';
import { mountRoute } from './callback-route.js';
import { DelayQueue } from './delay-queue.js';
import { Dispatcher } from './dispatcher.js';
import { SetupError } from './errors.js';
import { findHandlers } from './handlers.js';
import { type Settings, settle, type XtimerOptions } from './options.js';
import { Registration } from './registration.js';

const SETTINGS = Symbol('xtimer.settings');
const CLIENT = Symbol('xtimer.client');

/** Whose module does the work, for each Nest app of this process. */
const workers = new WeakMap<ModulesContainer, Settings>();

/** Finds the methods, mounts the route, registers. One of them works, however often the module is imported. */
@Injectable()
export class XtimerWorker implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private registration: Registration | null = null;

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLIENT) private readonly client: Client,
    private readonly modules: ModulesContainer,
    private readonly discovery: DiscoveryService,
    private readonly host: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    const first = workers.get(this.modules);
    if (first) {
      requireSame(first, this.settings);
      return;
    }
    workers.set(this.modules, this.settings);
    const { callbackPath } = this.settings;
    const handlers = findHandlers(this.discovery);
    const adapter = this.host.httpAdapter;
    // A context without HTTP (a command, a test) can publish; it can't be called.
    if (!adapter?.getType?.()) {
      if (handlers.size > 0) new Logger('XtimerModule').log('no HTTP server here: nothing is registered');
      return;
    }
    const dispatcher = new Dispatcher(this.settings, this.client, handlers);
    mountRoute(adapter, callbackPath, (request) => dispatcher.handle(request));
    this.registration = new Registration(this.settings, this.client, handlers);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.registration?.start();
  }

  onApplicationShutdown(): void {
    this.registration?.stop();
  }
}

function requireSame(first: Settings, second: Settings): void {
  const names = ['url', 'token', 'app', 'secret', 'baseUrl', 'callbackPath'] as const;
  const different = names.filter((name) => first[name] !== second[name]);
  if (different.length === 0) return;
  throw new SetupError('TWICE', `XtimerModule is imported twice with different ${different.join(', ')}: keep one`);
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<XtimerOptions>({
  moduleName: 'Xtimer',
})
  .setClassMethodName('forRoot')
  .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
  .build();

/**
 * Timers and delayed jobs of a Nest service: `forRoot(options)` or `forRootAsync({ imports, inject, useFactory })`, once,
 * in the root module; `DelayQueue` is global unless `isGlobal` is false. A wrong or missing option stops the boot with a SetupError.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: SETTINGS, useFactory: settle, inject: [{ token: MODULE_OPTIONS_TOKEN, optional: true }] },
    { provide: CLIENT, useFactory: ({ url, token }: Settings) => createClient({ url, token }), inject: [SETTINGS] },
    {
      provide: DelayQueue,
      useFactory: (client: Client, settings: Settings) => new DelayQueue(client, settings),
      inject: [CLIENT, SETTINGS],
    },
    XtimerWorker,
  ],
  exports: [DelayQueue],
})
export class XtimerModule extends ConfigurableModuleClass {}
