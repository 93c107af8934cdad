// Looks at the package as someone who installs it would: do its exports, types and files hold together?
import { runToEnd } from './process-group.mjs';

const folder = 'packages/cresset';
const checks = [
  ['publint', ['run', folder, '--strict', '--pack', 'pnpm']],
  // The core's worker and the classic script are started, not imported, so they have no types of their own.
  ['attw', ['--pack', folder, '--profile', 'esm-only', '--exclude-entrypoints', './worker', './script']],
];
for (const [command, args] of checks) {
  const { status } = await runToEnd(command, args);
  if (status !== 0) process.exitCode = 1;
}
