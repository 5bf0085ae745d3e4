import { Body, Controller, Inject, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, type ApiBodyOptions, ApiTags } from '@nestjs/swagger';
import {
  BackfillTimer,
  CreateTimer,
  RunTimer,
  TimerBackfilled,
  TimerCreated,
  TimerList,
  TimerListQuery,
  TimerRef,
  TimerRun,
  TimerView,
  UpdateTimer,
} from '@xtimer/contracts';
import { compile, type NewTimer, type TimerCommands, type TimerStore, taskIdOf } from '@xtimer/pipeline';
import { z } from 'zod';
import type { Config } from '../../platform/config/config.js';
import { CONFIG, TIMER_COMMANDS, TIMER_STORE } from '../../tokens.js';
import { By } from '../access/by.decorator.js';
import { invalidInput, notFound } from '../api-error.js';
import { GetRoute, PostRoute, QueryOrBody } from '../route.js';
import { SchemaPipe } from '../schema.pipe.js';
import { TargetCheck } from './target-check.js';
import { changesOf, newTimerOf, timerView } from './timer-mapping.js';

/** Nest's OpenAPI module doesn't see into `QueryOrBody`. */
const TIMER_REF = { schema: z.toJSONSchema(TimerRef, { io: 'input', target: 'openapi-3.0' }) } as ApiBodyOptions;

@ApiTags('timers')
@ApiBearerAuth()
@Controller('xtimer')
export class TimersController {
  constructor(
    @Inject(TIMER_COMMANDS) private readonly commands: TimerCommands,
    @Inject(TIMER_STORE) private readonly timers: TimerStore,
    @Inject(CONFIG) private readonly config: Config,
    private readonly targets: TargetCheck,
  ) {}

  @PostRoute('createTimer', 'Create a timer; inactive unless `enable` is true', TimerCreated)
  async create(@Body({ schema: CreateTimer }) input: CreateTimer, @By() by: string) {
    const timer = newTimerOf(input, this.config.timezone);
    requireSchedule(timer);
    this.targets.check(timer.notifyHttpParam);
    const { timerId } = await this.commands.create(timer, by);
    return { timerId };
  }

  @PostRoute('updateTimer', 'Change fields of a timer; what is left out stays', TimerView)
  async update(@Body({ schema: UpdateTimer }) input: UpdateTimer, @By() by: string) {
    const app = input.app ?? null;
    const current = await this.existing(input);
    const changes = changesOf(input, current);
    requireSchedule({ ...current, ...changes, policies: { ...current.policies, ...changes.policies } });
    if (changes.notifyHttpParam) this.targets.check(changes.notifyHttpParam);
    return timerView(await this.commands.update(app, input.timerId, changes, by));
  }

  @GetRoute('getTimer', 'One timer', TimerView)
  async get(@Query({ schema: TimerRef }) ref: TimerRef) {
    return timerView(await this.existing(ref));
  }

  @GetRoute('getAppTimers', 'Timers, newest first', TimerList)
  async list(@Query({ schema: TimerListQuery }) query: z.output<typeof TimerListQuery>) {
    const { page, pageSize, name, status, app = null } = query;
    const { list, total } = await this.timers.list({ app, name, status, page, pageSize });
    return { list: list.map(timerView), total, page, pageSize };
  }

  @GetRoute('enableTimer', 'Start firing', TimerView)
  enableByGet(@Query({ schema: TimerRef }) ref: TimerRef, @By() by: string) {
    return this.enable(ref, by);
  }

  @ApiBody(TIMER_REF)
  @PostRoute('enableTimer', 'Start firing', TimerView)
  async enable(@QueryOrBody(new SchemaPipe(TimerRef)) ref: TimerRef, @By() by: string) {
    return timerView(await this.commands.enable(ref.app ?? null, ref.timerId, by));
  }

  @GetRoute('unEnableTimer', 'Stop firing; planned tasks are canceled', TimerView)
  pauseByGet(@Query({ schema: TimerRef }) ref: TimerRef, @By() by: string) {
    return this.pause(ref, by);
  }

  @ApiBody(TIMER_REF)
  @PostRoute('unEnableTimer', 'Stop firing; planned tasks are canceled', TimerView)
  async pause(@QueryOrBody(new SchemaPipe(TimerRef)) ref: TimerRef, @By() by: string) {
    return timerView(await this.commands.pause(ref.app ?? null, ref.timerId, by));
  }

  @GetRoute('deleteTimer', 'Delete a timer; its history stays readable', z.object({}))
  deleteByGet(@Query({ schema: TimerRef }) ref: TimerRef, @By() by: string) {
    return this.delete(ref, by);
  }

  @ApiBody(TIMER_REF)
  @PostRoute('deleteTimer', 'Delete a timer; its history stays readable', z.object({}))
  async delete(@QueryOrBody(new SchemaPipe(TimerRef)) ref: TimerRef, @By() by: string) {
    await this.commands.delete(ref.app ?? null, ref.timerId, by);
  }

  @PostRoute('runTimer', 'Run once now, also when inactive; `body` replaces the body for this run', TimerRun)
  async run(@Body({ schema: RunTimer }) input: z.output<typeof RunTimer>, @By() by: string) {
    const ref = await this.commands.runNow(input.app ?? null, input.timerId, input.body ?? null, by);
    return { taskId: taskIdOf(ref) };
  }

  @PostRoute('backfillTimer', 'Run the past slots of a range that have no task yet, paced', TimerBackfilled)
  backfill(@Body({ schema: BackfillTimer }) input: z.output<typeof BackfillTimer>, @By() by: string) {
    const { app = null, timerId, startTime, endTime } = input;
    return this.commands.backfill(app, timerId, startTime, endTime, by);
  }

  private async existing({ app = null, timerId }: { app?: string | null; timerId: number }) {
    const timer = await this.timers.find(timerId, app);
    if (!timer) throw notFound('timerId', timerId);
    return timer;
  }
}

/** Also for timers that are not to fire yet: a cron that can't be read is refused when it is written. */
function requireSchedule({ cron, cronDialect, timezone, policies, startAt, endAt }: Omit<NewTimer, 'enable'>): void {
  compile(cron, { cronDialect, timezone, dst: policies.dst });
  if (startAt === null || endAt === null || startAt < endAt) return;
  throw invalidInput([{ field: 'endAt', value: endAt, expected: 'a moment after startAt' }]);
}
