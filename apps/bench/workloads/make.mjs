// Makes the models of workloads, and what PyTorch answers, where they are not there as this repository's text says; PYTHON names an interpreter that has PyTorch.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** Files of models, `NAME.pt` and `NAME.onnx`, and of answers, `WORKLOAD.json`. */
export const workloadFolder = path('../node_modules/.cache/workloads');

const hashOf = (...texts) => createHash('sha256').update(texts.join('\0')).digest('hex');

/** The text at a path, empty where there is none. */
const textAt = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** @param {readonly object[]} workloads of src/workloads */
export function makeWorkloads(workloads) {
  mkdirSync(workloadFolder, { recursive: true });
  const sources = readdirSync(path('.')).filter((name) => name.endsWith('.py'));
  const shared = ['made.py', 'make.py', 'sequences.py'].filter((name) => sources.includes(name));
  const common = hashOf(...shared.map((name) => textAt(path(name))), textAt(path('../bench_programs.py')));
  const modelStamp = (model) => hashOf(common, textAt(path(`${model}.py`)));
  const stampFile = (model) => join(workloadFolder, `${model}.stamp`);
  const models = [...new Set(workloads.map(({ model }) => model))];
  const staleModels = models.filter((model) => textAt(stampFile(model)) !== modelStamp(model));
  const stamped = workloads.map((workload) => ({
    workload,
    stamp: hashOf(modelStamp(workload.model), JSON.stringify(workload)),
  }));
  const stale = stamped.filter(({ workload, stamp }) => {
    const text = textAt(join(workloadFolder, `${workload.name}.json`));
    return text === '' || JSON.parse(text).stamp !== stamp;
  });
  if (staleModels.length + stale.length === 0) return;
  const python = process.env.PYTHON;
  if (!python) throw new Error('PyTorch makes the models of workloads: let PYTHON name an interpreter that has it');
  const { status } = spawnSync(python, [path('make.py'), workloadFolder], {
    input: JSON.stringify({ models: staleModels, workloads: stale }),
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONPATH: path('..') },
  });
  if (status !== 0) throw new Error(`${python} could not make the models of workloads`);
  for (const model of staleModels) writeFileSync(stampFile(model), modelStamp(model));
}
