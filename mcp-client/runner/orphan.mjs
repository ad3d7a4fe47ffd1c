/**
 * A thread that kills the worker process when its server is gone. It runs beside the agent's code, so it works even while
 * that code is stuck in a loop.
 */

import { workerData } from 'node:worker_threads';

setInterval(() => {
  if (process.ppid !== workerData.parent) {
    process.kill(process.pid, 'SIGKILL');
  }
}, 500);
