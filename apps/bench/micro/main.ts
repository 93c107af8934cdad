import { argv, env } from 'node:process';
import { microTable, runMicro } from './micro.ts';

const [folder, ...names] = argv.slice(2);
console.log(
  microTable(await runMicro({ folder, python: env.PYTHON ?? null, names: names.length > 0 ? names : undefined })),
);
