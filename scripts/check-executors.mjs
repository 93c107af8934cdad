// Takes corpora through every executor on every device: each case has to have the verdict that it has on the first device with the JIT off.
//   node scripts/check-executors.mjs [CORPUS ...]     folders with cases (*.jsonl); jit, op and models of ../shared by default
//   --sample N      only so many cases of each corpus, spread evenly
//   --device LIST   of typescript (the host without its device), webassembly, webassembly-relaxed (with relaxed SIMD), webassembly-threads (with
//                   threads that help), webgpu; all of them by default
//   --sizes N       each case at so many sizes instead: its own, with its tensors tiled to twice their length, three times, and its own again, two
//                   calls of each; along one dimension or all of them, as the program takes them (conformance/src/cases/tiling.ts). Every executor with
//                   all that it records has to give at each size what the program gives as it was compiled, without a device and without recordings
//   --gradients     gradients instead: what the calls of each case give and the gradients of floats among their arguments, of runs that are recorded, under each
//                   executor that differentiates groups of operators have to be those with the JIT off, whose operators the tape records one by one
//   --workers N     processes at a time
// A case's calls are made three times on one program, so that a program that is watched is specialised, then with other shapes, so that
// guards fail, and then with its own again; whatever comes of each has to be what comes of the program as it was compiled. On a device,
// everything that has a kernel there runs there, however little it is.
import { parseArgs } from 'node:util';
import { compareTiled, corporaOf, runCorpus } from './corpus-runs.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    device: { type: 'string', default: 'typescript,webassembly,webassembly-relaxed,webassembly-threads,webgpu' },
    sizes: { type: 'string' },
    gradients: { type: 'boolean', default: false },
    workers: { type: 'string' },
  },
});
const { sample, sizes, workers } = values;
const devices = values.device.split(',');
const corpora = corporaOf(positionals, ['conformance/jit', 'conformance/op', 'models']);

const executors = ['off', 'default', 'simple', 'profiling', 'bailouts'];

/** For each case why it fails under each executor, null where it passes. */
async function verdicts(corpus, device) {
  const results = await runCorpus(corpus, device, ['--executor', executors.join(), '--repeat', '3'], {
    sample,
    workers,
  });
  const alike = (reason) => Object.fromEntries(executors.map((executor) => [executor, reason]));
  return new Map(results.map(({ id, reason, verdicts: found = alike(reason) }) => [id, found]));
}

/** Work that nothing needs fails in them, also in PyTorch where it does not optimise; elsewhere it is not done. */
const failWithoutPasses = new Set(
  ['test_SpectralOpsModule', 'test_methods_SpectralOpsModule'].map(
    (name) => `extra_mobile_models/TestMobileModels.${name}.0`,
  ),
);

if (sizes !== undefined) {
  const executor = executors.filter((each) => each !== 'off').join();
  await compareTiled(corpora, devices, { elements: '1', repeat: '2', sizes, executor, sample, workers });
  process.exit();
}

if (values.gradients) {
  const executor = ['simple', 'profiling', 'bailouts'];
  for (const corpus of corpora) {
    for (const device of devices) {
      const options = ['--check', 'gradients', '--executor', executor.join(), '--repeat', '3'];
      const results = await runCorpus(corpus, device, options, { sample, workers });
      const failed = results.filter(({ passed }) => !passed);
      console.log(`${corpus}, ${device}: gradients of ${results.length - failed.length} of ${results.length} cases`);
      for (const { id, verdicts = {}, reason } of failed)
        console.error(`${id}, ${device}: ${reason}; ${JSON.stringify(verdicts)}`);
      if (failed.length > 0) process.exitCode = 1;
    }
  }
  process.exit();
}

const said = (reason) => (reason === null ? 'passes' : `fails: ${reason}`);
for (const corpus of corpora) {
  let first = null;
  for (const device of devices) {
    const found = await verdicts(corpus, device);
    first ??= found;
    const counts = executors.map(
      (executor) => `${executor} ${[...found.values()].filter((each) => each[executor] === null).length}`,
    );
    console.log(`${corpus}, ${device}: ${counts.join(', ')} of ${found.size}`);
    for (const [id, each] of found) {
      const { off } = first.get(id);
      for (const executor of executors) {
        const passes = off === null || (executor !== 'off' && failWithoutPasses.has(id));
        if ((each[executor] === null) === passes) continue;
        console.error(`${id}, ${device}, ${executor}: ${said(each[executor])}; with the JIT off it ${said(off)}`);
        process.exitCode = 1;
      }
    }
  }
}
