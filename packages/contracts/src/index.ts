export * from './app.js';
export * from './envelope.js';
export * from './fields.js';
export * from './http.js';
export * from './problem.js';
export * from './task.js';
export * from './timer.js';
