import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Metrics } from '../../pipeline/metrics.js';

@Controller()
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  /** Left out of the OpenAPI document: the answer is Prometheus' text, not our envelope. */
  @ApiExcludeEndpoint()
  @Get('metrics')
  async text(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.metrics.text();
    reply.type(this.metrics.contentType).send(text);
  }
}
