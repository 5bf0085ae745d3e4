import 'reflect-metadata';
import { ConsoleLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { configOf } from './config.js';
import { shopModule } from './shop.module.js';

const config = configOf(process.env);
const app = await NestFactory.create(shopModule(config), new FastifyAdapter(), {
  logger: new ConsoleLogger({ colors: false, logLevels: ['log', 'warn', 'error'] }),
});
app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
await app.listen(config.port, '127.0.0.1');
console.log(`the shop listens on http://127.0.0.1:${config.port}`);
