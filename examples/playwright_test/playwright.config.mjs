/** One worker, because one client is connected to a browser at a time. */
export default { workers: 1, reporter: 'list' };
