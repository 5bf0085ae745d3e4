export const SHOP_CONFIG = Symbol('shop.config');
