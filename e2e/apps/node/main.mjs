// Run by Node, Deno and Bun; the model is the first argument, a path or a `file:` address, PyTorch's drawing the second.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { load, tensor } from 'cresset';
import { ask } from './digits.js';

const [, , file, drawing] = process.argv;
console.log(JSON.stringify(await ask({ load, tensor }, file, JSON.parse(readFileSync(drawing, 'utf8')))));
