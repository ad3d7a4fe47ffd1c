/** Ends the worker when the server that started it is gone, whatever its code is doing. */

import { workerData } from 'node:worker_threads';

setInterval(() => {
  if (process.ppid !== workerData.parent) {
    process.kill(process.pid, 'SIGKILL');
  }
}, 500);
