export { ThreadPool } from '../threads/thread-pool.ts';
