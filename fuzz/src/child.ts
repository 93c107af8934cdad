import './allocation-meter.ts';

// Only now: what is loaded keeps the constructors of buffers that it finds.
const { takeCases } = await import('./child-cases.ts');
const [folder, ...range] = process.argv.slice(2);
const [first, last, step] = range.map(Number);
await takeCases(folder, first, last, step);
