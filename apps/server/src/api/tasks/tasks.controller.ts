import { Body, Controller, Inject, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { CancelTask, TaskDetail, TaskList, TaskListQuery, TaskRefQuery, TasksCanceled } from '@xtimer/contracts';
import { parseTaskId, type Task, type TaskStore, type TimerCommands, type TimerStore } from '@xtimer/pipeline';
import type { z } from 'zod';
import { TASK_STORE, TIMER_COMMANDS, TIMER_STORE } from '../../tokens.js';
import { By } from '../access/by.decorator.js';
import { invalidInput, notFound } from '../api-error.js';
import { GetRoute, PostRoute } from '../route.js';
import { cursorOf, refOf, taskDetail, taskView } from './task-mapping.js';

@ApiTags('tasks')
@ApiBearerAuth()
@Controller('xtimer')
export class TasksController {
  constructor(
    @Inject(TIMER_COMMANDS) private readonly commands: TimerCommands,
    @Inject(TIMER_STORE) private readonly timers: TimerStore,
    @Inject(TASK_STORE) private readonly tasks: TaskStore,
  ) {}

  @GetRoute('getTaskList', 'Executions, planned ones too, newest first', TaskList)
  async list(@Query({ schema: TaskListQuery }) query: z.output<typeof TaskListQuery>) {
    const { app = null, pageSize, cursor, ...filter } = query;
    const before = cursor === undefined ? null : refOf(cursor);
    if (cursor !== undefined && !before) {
      throw invalidInput([{ field: 'cursor', value: cursor, expected: 'the nextCursor of the page before' }]);
    }
    const found = await this.tasks.history({ app, ...filter, before, limit: pageSize + 1 });
    const page = found.slice(0, pageSize);
    const names = await this.namesOf(page);
    return {
      list: page.map((task) => taskView(task, names.get(task.timerId) ?? '')),
      nextCursor: found.length > pageSize ? cursorOf(page.at(-1)!) : null,
    };
  }

  @GetRoute('getTask', 'One execution with its failed attempts', TaskDetail)
  async get(@Query({ schema: TaskRefQuery }) query: z.output<typeof TaskRefQuery>) {
    const ref = parseTaskId(query.taskId);
    const task = ref && (await this.commands.findTask(query.app ?? null, ref));
    if (!task) throw notFound('taskId', query.taskId);
    const [names, attempts] = await Promise.all([this.namesOf([task]), this.tasks.attempts(task)]);
    return taskDetail(task, names.get(task.timerId) ?? '', attempts);
  }

  @PostRoute('cancelTask', 'Cancel planned executions, one or many', TasksCanceled)
  async cancel(@Body({ schema: CancelTask }) input: z.output<typeof CancelTask>, @By() by: string) {
    const taskIds = input.taskIds ?? [input.taskId!];
    const outcomes = await this.commands.cancel(
      input.app ?? null,
      taskIds.map((taskId) => parseTaskId(taskId)!),
      by,
    );
    return { results: taskIds.map((taskId, at) => ({ taskId, outcome: outcomes[at]! })) };
  }

  /** Deleted timers still name their history. */
  private async namesOf(tasks: readonly Task[]): Promise<Map<number, string>> {
    if (tasks.length === 0) return new Map();
    const definitions = await this.timers.definitions([...new Set(tasks.map((task) => task.timerId))]);
    return new Map(definitions.map(({ timerId, name }) => [timerId, name]));
  }
}
