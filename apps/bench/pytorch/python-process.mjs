import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A Python process that answers lines with lines. */
export class PythonProcess {
  #process;
  #answers;
  /** One request after the other. */
  #last = Promise.resolve();

  /**
   * @param {string} python an interpreter that has what the script imports
   * @param {string} script
   * @param {readonly string[]} args
   */
  constructor(python, script, args = []) {
    this.#process = spawn(python, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    // Told by the answer that does not come.
    this.#process.on('error', () => undefined);
    this.#process.stdin.on('error', () => undefined);
    this.#answers = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /**
   * Rejects where the process has ended.
   *
   * @param {string} line
   * @returns {Promise<string>}
   */
  ask(line) {
    const answer = this.#last.then(async () => {
      this.#process.stdin.write(`${line}\n`);
      const { value, done } = await this.#answers.next();
      if (done) throw new Error(`Python gave no answer to ${line.slice(0, 100)}`);
      return value;
    });
    this.#last = answer.then(
      () => undefined,
      () => undefined,
    );
    return answer;
  }

  close() {
    this.#process.stdin.end();
  }
}
