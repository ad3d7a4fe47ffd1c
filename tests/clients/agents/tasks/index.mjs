/** The 20 tasks, in the order in which they run. */

import { tasks as dashboard } from './dashboard.mjs';
import { tasks as form } from './form.mjs';
import { tasks as mail } from './mail.mjs';
import { tasks as orders } from './orders.mjs';
import { lastTasks, tasks as shop } from './shop.mjs';

/** @type {import('./task.mjs').Task[]} */
export const TASKS = [...mail, ...form, ...orders, ...shop, ...dashboard, ...lastTasks];
