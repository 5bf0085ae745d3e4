import { Body, Controller, Headers, Inject, type OnModuleDestroy } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { CallbackTested, CronPreview, PreviewCron, TestCallback } from '@xtimer/contracts';
import {
  type Callbacks,
  type Clock,
  compile,
  type Definition,
  defaultPolicies,
  describe,
  matchesStatus,
} from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import type { z } from 'zod';
import type { Config } from '../../platform/config/config.js';
import { CALLBACKS, CLOCK, CONFIG, DATABASE } from '../../tokens.js';
import { PostRoute } from '../route.js';
import { TargetCheck } from '../timers/target-check.js';
import { callbackOf, policiesOf } from '../timers/timer-mapping.js';

/** Trying things out: nothing here is stored. */
@ApiTags('tools')
@ApiBearerAuth()
@Controller('xtimer')
export class ToolsController implements OnModuleDestroy {
  private readonly stopping = new AbortController();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CALLBACKS) private readonly callbacks: Callbacks,
    @Inject(DATABASE) private readonly database: Database,
    private readonly targets: TargetCheck,
  ) {}

  /** A long test call would hold up the HTTP side's closing, and with it the handing over of locks. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  @PostRoute('previewCron', 'What a cron expression means and when it fires next', CronPreview)
  previewCron(
    @Body({ schema: PreviewCron }) input: PreviewCron,
    @Headers('accept-language') language?: string,
  ): CronPreview {
    const {
      cron,
      cronDialect,
      timezone = this.config.timezone,
      count = 10,
      from = Math.floor(this.clock.now()),
    } = input;
    const dst = { ...defaultPolicies.dst, ...input.dst };
    const recurrence = compile(cron, { ...(cronDialect && { cronDialect }), timezone, dst });
    const next: number[] = [];
    let fire = recurrence.next(from);
    while (fire !== null && next.length < count) {
      next.push(fire);
      fire = recurrence.next(fire);
    }
    return {
      valid: true,
      dialect: recurrence.dialect,
      description: describe(recurrence, language?.startsWith('zh') ? 'zh' : 'en'),
      warnings: recurrence.warnings.map((warning) => warning.message),
      next,
      ends: fire === null,
    };
  }

  @PostRoute('testCallback', 'Make one call now and tell what came of it; nothing is stored', CallbackTested)
  async testCallback(@Body({ schema: TestCallback }) input: z.output<typeof TestCallback>): Promise<CallbackTested> {
    const notifyHttpParam = callbackOf(input.notifyHTTPParam);
    this.targets.check(notifyHttpParam);
    const policies = { ...defaultPolicies, ...policiesOf(input, defaultPolicies) };
    const definition: Definition = {
      ...{
        timerId: 0,
        topic: null,
        app: input.app ?? 'test',
        name: 'testCallback',
        revision: 0,
        notifyHttpParam,
        policies,
      },
      signingSecrets: input.app === undefined ? [] : await this.database.apps.secrets(input.app),
    };
    const task = { timerId: 0, runTimer: Math.floor(this.clock.now()), attempt: 1, payload: null, jobId: null };
    const sentAt = performance.now();
    const answer = await this.callbacks.call(task, definition, this.stopping.signal);
    const { httpStatus, error } = answer;
    return {
      success: !error && httpStatus !== null && matchesStatus(policies.success.status, httpStatus),
      httpStatus,
      costTime: Math.round(performance.now() - sentAt),
      output: answer.output,
      error: error && `${error.code}: ${error.message}`,
    };
  }
}
