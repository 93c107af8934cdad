import { microTable, runMicro } from './micro.ts';

const [folder, ...names] = process.argv.slice(2);
console.log(
  microTable(
    await runMicro({ folder, python: process.env.PYTHON ?? null, names: names.length > 0 ? names : undefined }),
  ),
);
