import { Module } from '@nestjs/common';
import { AppsController } from './apps/apps.controller.js';
import { JobsController } from './jobs/jobs.controller.js';
import { TasksController } from './tasks/tasks.controller.js';
import { TargetCheck } from './timers/target-check.js';
import { TimersController } from './timers/timers.controller.js';
import { ToolsController } from './tools/tools.controller.js';
import { TopicsController } from './topics/topics.controller.js';

/** What nodes with the role `api` answer. */
@Module({
  controllers: [TimersController, TasksController, TopicsController, JobsController, ToolsController, AppsController],
  providers: [TargetCheck],
})
export class ApiModule {}
