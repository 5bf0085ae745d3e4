import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { OrdersService } from './orders.service.js';

@Controller()
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post('orders')
  place(@Body() body: { item?: unknown }) {
    return this.orders.place(typeof body?.item === 'string' ? body.item : 'book');
  }

  @Post('orders/:orderId/pay')
  @HttpCode(200)
  pay(@Param('orderId') orderId: string) {
    return this.orders.pay(orderId);
  }

  @Get('orders/:orderId')
  find(@Param('orderId') orderId: string) {
    return this.orders.find(orderId);
  }

  @Get('reports')
  reports() {
    return this.orders.reports();
  }
}
