import { type DynamicModule, Module } from '@nestjs/common';
import { XtimerModule } from '@xtimer/nestjs';
import type { ShopConfig } from './config.js';
import { DatabaseModule, Transactions } from './database.js';
import { once } from './once.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { SHOP_CONFIG } from './tokens.js';
import { Warehouse } from './warehouse.js';

@Module({})
export class ShopModule {}

export const shopModule = (config: ShopConfig): DynamicModule => ({
  module: ShopModule,
  imports: [
    DatabaseModule,
    XtimerModule.forRootAsync({
      imports: [DatabaseModule],
      inject: [Transactions],
      useFactory: (transactions: Transactions) => ({ ...config.xtimer, dedupe: once(transactions) }),
    }),
  ],
  controllers: [OrdersController],
  providers: [{ provide: SHOP_CONFIG, useValue: config }, OrdersService, Warehouse],
});
